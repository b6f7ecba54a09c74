// Package pagetest parses rendered pages, for the tests of pages and reports.
//
// Input: the HTML or Markdown of a page. Output: its elements, texts and tables, and
// attributes that no page may have.
package pagetest
