// SPDX-License-Identifier: Apache-2.0

package page

// Page is what a document shows its readers.
type Page struct {
	Title   string
	Verdict string  // shown as a badge before the title; empty: none
	Source  string  // file with the full texts, which HTML and Markdown then shorten; empty: no text is shortened
	Blocks  []Block // paragraphs and facts first, then sections
}

// Block is a Paragraph, Facts, a List, Code, a Table, Charts or a Section.
type Block interface{ block() }

// Paragraph is running text.
type Paragraph struct {
	ID    string // id of the HTML element; empty: none
	Text  string
	State State
}

// Facts is a list of names with a text each.
type Facts []Fact

// Fact is a name with its text.
type Fact struct{ Name, Text string }

// List is an unordered list.
type List struct {
	Items []string
	Limit int // most items shown; 0: all
}

// Code is lines to be copied, which are neither wrapped nor shortened.
type Code []string

// Section is a heading with blocks below it.
type Section struct {
	ID      string // id of the HTML element; empty: none
	Heading string
	Blocks  []Block
}

// Under is a section of blocks under a heading.
func Under(heading string, blocks ...Block) Section { return Section{Heading: heading, Blocks: blocks} }

func (Paragraph) block() {}
func (Facts) block()     {}
func (List) block()      {}
func (Code) block()      {}
func (Table) block()     {}
func (Charts) block()    {}
func (Section) block()   {}

// State is how a text is highlighted.
type State int

// The states.
const (
	Plain    State = iota
	Good           // PASS, or a change for the better
	Bad            // FAIL, or a change for the worse
	Doubtful       // any other verdict
	Strong         // highlighted without a judgement
	Quiet          // less important
)

// VerdictState is the highlighting of a certificate's verdict.
func VerdictState(verdict string) State {
	switch verdict {
	case "PASS":
		return Good
	case "FAIL":
		return Bad
	}
	return Doubtful
}

// String is the CSS class of the state.
func (s State) String() string {
	return [...]string{"", "good", "bad", "doubtful", "strong", "quiet"}[s]
}

// truncate splits off what exceeds a limit; 0: no limit.
func truncate[T any](all []T, limit int) (shown []T, more int) {
	if limit <= 0 || len(all) <= limit {
		return all, 0
	}
	return all[:limit], len(all) - limit
}
