package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"assay/harness/run"
)

// progress tells on stderr what a run is doing: on a terminal one line that is
// rewritten every second, elsewhere a line a stage and one every ten seconds.
type progress struct {
	w     io.Writer
	name  string
	tty   bool
	quiet bool
	last  time.Duration
	open  bool // the current line is not ended
}

func newProgress(w io.Writer, name string, quiet bool) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, name: name, tty: ok && term.IsTerminal(int(f.Fd())), quiet: quiet}
}

// quietEvery is how often progress is told where it cannot be rewritten.
const quietEvery = 10 * time.Second

func (p *progress) tell(e run.Event) {
	if p.quiet {
		return
	}
	switch e.Kind {
	case run.Step, run.Note:
		p.line("%s: %s", p.name, e.Text)
	case run.Enter:
		rate := fmt.Sprintf("%g/s", e.Stage.To)
		if e.Stage.From != e.Stage.To {
			rate = fmt.Sprintf("%g/s to %g/s", e.Stage.From, e.Stage.To)
		}
		p.last = e.Offset
		p.line("%s: %s, %s for %s", p.name, e.Stage.Name, rate, e.Stage.Duration)
	case run.Tick:
		text := fmt.Sprintf("%s: %3.0f of %.0f s  %-9s %s", p.name, e.Offset.Seconds(), e.Of.Seconds(), e.Stage.Name, liveText(e.Live))
		if p.tty {
			fmt.Fprintf(p.w, "\r\x1b[K%s", text)
			p.open = true
		} else if e.Offset-p.last >= quietEvery {
			p.last = e.Offset
			p.line("%s", text)
		}
	}
}

func liveText(l run.Live) string {
	text := fmt.Sprintf("%.0f/s completed", l.Completed)
	if l.HasP95 {
		text += fmt.Sprintf(", p95 %.1f ms", l.P95)
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

func (p *progress) line(format string, args ...any) {
	p.end()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// end closes the line that is being rewritten.
func (p *progress) end() {
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}
