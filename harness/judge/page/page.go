package page

// Page is a document as people read it.
type Page struct {
	Title   string
	Verdict string  // shown as a badge before the title; empty: none
	Source  string  // the file that holds all of what a table or list cuts; empty: none
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

// Facts are texts beside their names.
type Facts []Fact

// Fact is one of them.
type Fact struct{ Name, Text string }

// List is of items without an order.
type List struct {
	Items []string
	Most  int // shown; 0: all
}

// Code is lines to be copied: no renderer wraps or cuts them.
type Code []string

// Section is a heading and what stands below it.
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

// State is what the reader shall see of a text at a glance.
type State int

// The states.
const (
	Plain    State = iota
	Good           // a verdict that passes, a change for the better
	Bad            // a verdict that fails, a change for the worse
	Doubtful       // a verdict that is neither
	Strong         // stands out, and is no judgement
	Quiet          // stands back
)

// VerdictState is the state of a verdict, as certificates name them.
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

// shown are the first of many, and how many more there are.
func shown[T any](all []T, most int) (first []T, more int) {
	if most <= 0 || len(all) <= most {
		return all, 0
	}
	return all[:most], len(all) - most
}
