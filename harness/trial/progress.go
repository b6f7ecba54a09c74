package trial

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"assay/harness/quantity"
	"assay/harness/run"
)

// Console is where commands tell what they do while it goes on, usually stderr.
type Console struct {
	W     io.Writer
	Quiet bool
	// Once leaves out notes that were told before, for runs that are much alike.
	Once bool

	told map[string]bool
}

// Say writes one line.
func (c *Console) Say(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(c.W, format+"\n", args...)
	}
}

// Progress tells what a run of this name is doing: on a terminal in one line that
// is rewritten every second, elsewhere in a line a stage and one every ten seconds.
func (c *Console) Progress(name string) *Progress {
	f, ok := c.W.(*os.File)
	return &Progress{console: c, name: name, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// Progress tells what one run is doing.
type Progress struct {
	// First is called before the first event, once nothing keeps the run from its
	// start; nil: nothing.
	First func()

	console  *Console
	name     string
	terminal bool
	last     time.Duration // when a line was written, after t0
	open     bool          // the current line is not ended
}

// plainInterval is how often progress is told where it cannot be rewritten.
const plainInterval = 10 * time.Second

// Tell tells one event of a run.
func (p *Progress) Tell(e run.Event) {
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

// Step tells that something begins.
func (p *Progress) Step(format string, args ...any) { p.line(fmt.Sprintf(format, args...)) }

// Note tells something to know.
func (p *Progress) Note(text string) {
	if p.console.Once {
		if p.console.told[text] {
			return
		}
		if p.console.told == nil {
			p.console.told = map[string]bool{}
		}
		p.console.told[text] = true
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
	text := fmt.Sprintf("%.0f/s completed", l.Completed)
	if l.HasP95 {
		text += ", p95 " + quantity.Format(l.P95, "ms")
	}
	for _, o := range []struct {
		n    float64
		what string
	}{{l.Failed, "failed"}, {l.TimedOut, "timed out"}, {l.Dropped, "dropped"}} {
		if o.n > 0 {
			text += fmt.Sprintf(", %.0f %s", o.n, o.what)
		}
	}
	return text
}

func (p *Progress) line(text string) {
	p.End()
	p.console.Say("%s: %s", p.name, text)
}

// End closes the line that is being rewritten.
func (p *Progress) End() {
	if p.open {
		fmt.Fprint(p.console.W, "\r\x1b[K")
		p.open = false
	}
}
