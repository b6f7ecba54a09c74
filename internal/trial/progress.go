package trial

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/run"
)

// Console is where commands report their progress, usually stderr.
type Console struct {
	W     io.Writer
	Quiet bool
	// Once omits notes that were printed already, for a series of similar runs.
	Once bool

	printed map[string]bool
}

// Say writes one line.
func (c *Console) Say(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintln(c.W, page.Message(fmt.Sprintf(format, args...)))
	}
}

// Progress returns the progress report of a run of this name: on a terminal one line
// that is rewritten every second, otherwise a line per stage and every 10 s.
func (c *Console) Progress(name string) *Progress {
	f, ok := c.W.(interface{ Fd() uintptr }) // a file, or what masks secrets on the way to one
	return &Progress{console: c, name: name, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// Progress reports the progress of one run.
type Progress struct {
	// First is called before the first event, after the preflight; may be nil.
	First func()

	console  *Console
	name     string
	terminal bool
	last     time.Duration // offset of the last line since t0
	open     bool          // the current line has no line feed yet
}

// plainInterval is the time between lines of progress where they cannot be
// rewritten.
const plainInterval = 10 * time.Second

// Report prints one event of a run.
func (p *Progress) Report(e run.Event) {
	if first := p.First; first != nil {
		p.First = nil
		first()
	}
	switch e.Kind {
	case run.Step:
		p.line(e.Text)
	case run.Note:
		p.Note(e.Text)
	case run.Enter:
		rate := quantity.Exact(e.Stage.To) + "/s"
		if e.Stage.From != e.Stage.To {
			rate = quantity.Exact(e.Stage.From) + "/s to " + rate
		}
		p.last = e.Offset
		p.line(fmt.Sprintf("%s, %s for %s", e.Stage.Name, rate, e.Stage.Duration))
	case run.Tick:
		p.tick(e)
	}
}

// Step prints that something begins.
func (p *Progress) Step(format string, args ...any) { p.line(fmt.Sprintf(format, args...)) }

// Line prints a line of the progress of a run that is made elsewhere.
func (p *Progress) Line(text string) {
	p.First = nil // its own forecast is among the lines
	p.End()
	p.console.Say("%s", text)
}

// Note prints something to know.
func (p *Progress) Note(text string) {
	if p.console.Once {
		if p.console.printed[text] {
			return
		}
		if p.console.printed == nil {
			p.console.printed = map[string]bool{}
		}
		p.console.printed[text] = true
	}
	p.line(text)
}

func (p *Progress) tick(e run.Event) {
	text := fmt.Sprintf("%3.0f of %.0f s  %-9s %s", e.Offset.Seconds(), e.Of.Seconds(), e.Stage.Name, liveText(e.Live))
	switch {
	case p.console.Quiet:
	case p.terminal:
		fmt.Fprintf(p.console.W, "\r\x1b[K%s: %s", p.name, text)
		p.open = true
	case e.Offset-p.last >= plainInterval:
		p.last = e.Offset
		p.line(text)
	}
}

func liveText(l run.Live) string {
	text := fmt.Sprintf("%.0f/s completed", l.Ended[0])
	if l.HasP95 {
		text += ", p95 " + quantity.Format(l.P95, "ms")
	}
	for i, what := range []string{"failed", "timed out", "dropped"} {
		if n := l.Ended[i+1]; n > 0 {
			text += fmt.Sprintf(", %.0f/s %s", n, what)
		}
	}
	if l.HasPersistLag {
		text += ", persist lag " + quantity.Format(l.PersistLag, "ms")
	}
	return text
}

func (p *Progress) line(text string) {
	p.End()
	p.console.Say("%s: %s", p.name, text)
}

// End removes the line that is being rewritten.
func (p *Progress) End() {
	if p.open {
		fmt.Fprint(p.console.W, "\r\x1b[K")
		p.open = false
	}
}
