package page

// Page is what a document shows its readers.
type Page struct {
	Title   string
	Verdict string  // shown as a badge before the title; empty: none
	Source  string  // file with the whole of all texts, so that files may shorten them; empty: none is shortened
	Blocks  []Block // paragraphs and facts first, then sections
}

// Block is a Paragraph, Facts, a List, Code, a Table, Charts or a Section.
type Block interface{ block() }

// Paragraph is running text.
type Paragraph struct {
	ID    string // of the HTML element; empty: none
	Text  string
	State State
}

// Facts are names with their texts.
type Facts []Fact

// Fact is a name with its text.
type Fact struct{ Name, Text string }

// List is an unordered list.
type List struct {
	Items []string
	Most  int // shown; 0: all
}

// Code is lines to be copied: they are neither wrapped nor shortened.
type Code []string

// Section is a heading with blocks below it.
type Section struct {
	ID      string // of the HTML element; empty: none
	Heading string
	Blocks  []Block
}

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
	Good           // a verdict that passes, a change for the better
	Bad            // a verdict that fails, a change for the worse
	Doubtful       // a verdict that is neither
	Strong         // highlighted without a judgement
	Quiet          // of less importance
)

// VerdictState is the state of a verdict of a certificate.
func VerdictState(verdict string) State {
	switch verdict {
	case "PASS":
		return Good
	case "FAIL":
		return Bad
	}
	return Doubtful
}

// String is the state's class in HTML.
func (s State) String() string {
	return [...]string{"", "good", "bad", "doubtful", "strong", "quiet"}[s]
}

// shown are the first of all, and how many are left out.
func shown[T any](all []T, most int) (first []T, more int) {
	if most <= 0 || len(all) <= most {
		return all, 0
	}
	return all[:most], len(all) - most
}
