package report

import (
	"fmt"
	"strings"

	"assay/harness/judge/internal/plain"
)

// page gathers the lines of a summary.
type page struct {
	plain.Page
	color bool
}

func (p *page) more(n int) {
	if n > 0 {
		p.Line(fmt.Sprintf("    and %d more", n))
	}
}

// paint colours a text by the verdict it belongs to.
func (p *page) paint(verdict, text string) string {
	if !p.color {
		return text
	}
	code := "31" // red
	switch verdict {
	case "PASS":
		code = "32"
	case "INVALID", "INCONCLUSIVE":
		code = "33"
	}
	return "\x1b[1;" + code + "m" + text + "\x1b[0m"
}

// spaced sets a word wide, so that it stands out without colour too.
func spaced(word string) string { return "[ " + strings.Join(strings.Split(word, ""), " ") + " ]" }
