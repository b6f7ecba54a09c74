// Package page is one model of what people read of a document, and its
// renderers: a terminal, Markdown, HTML, and JUnit XML for checks.
//
// Input: a Page, which the report of a certificate, a comparison or an experiment
// builds: paragraphs, facts, lists, tables, charts, commands, in sections. Its
// texts come from scripts, services and databases too, and may hold anything.
// Output: bytes, the same for the same page. Each renderer escapes, cleans, cuts
// and aligns its own way, so that no text steers a terminal, becomes markup, or
// makes a file too long to be shown.
package page
