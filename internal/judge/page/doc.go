// SPDX-License-Identifier: Apache-2.0

// Package page is the model of a page that people read, and its renderers: terminal,
// Markdown, HTML, and JUnit XML for checks.
//
// Input: a Page of paragraphs, facts, lists, tables, charts, code and sections, built
// by the report package of a certificate, a comparison or an experiment. Texts may come
// from scripts, services and databases and may contain anything. Output: bytes, the same
// for the same page. The renderers escape, clean, shorten and align all texts: none can
// control a terminal, become markup, or make a file too long to be displayed.
package page
