//go:build live

package report

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/testing/budget"
)

// chromium starts a real browser, once for all tests.
var chromium = sync.OnceValues(func() (context.Context, error) {
	program := os.Getenv("ASSAY_TEST_CHROMIUM")
	if program == "" {
		return nil, errors.New("ASSAY_TEST_CHROMIUM does not name a Chromium: make test does")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
	ctx, stopProgram := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(ctx)
	afterTests = func() { stopBrowser(); stopProgram() }
	return ctx, chromedp.Run(ctx)
})

// browser is the browser of all tests; each context of it is a tab.
func browser(t *testing.T) context.Context {
	t.Helper()
	ctx, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// open opens a page in a new tab, and fails the test if the browser logs anything or
// requests anything but the page.
func open(t *testing.T, ctx context.Context, page []byte, actions ...chromedp.Action) {
	t.Helper()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	ctx, late := context.WithTimeout(ctx, time.Minute)
	defer late()
	path := filepath.Join(t.TempDir(), "certificate.html")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		t.Fatal(err)
	}
	address := (&url.URL{Scheme: "file", Path: path}).String()
	var mutex sync.Mutex
	var complaints []string
	complain := func(format string, args ...any) {
		mutex.Lock()
		defer mutex.Unlock()
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			complain("console.%s", e.Type)
		case *runtime.EventExceptionThrown:
			complain("exception: %s", e.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded:
			complain("log: %s", e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if e.Request.URL != address {
				complain("request: %s", e.Request.URL)
			}
		}
	})
	all := append([]chromedp.Action{network.Enable(), cdplog.Enable(), chromedp.Navigate(address), chromedp.WaitReady("body")}, actions...)
	if err := chromedp.Run(ctx, all...); err != nil {
		t.Fatal(err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	for _, c := range complaints {
		t.Error(c)
	}
}

// painted counts the pixels of each chart that have the color of one of its curves.
const painted = `Array.from(document.querySelectorAll('#charts canvas'), (canvas, i) => {
	const curve = [[63, 155, 80], [63, 155, 80], [142, 91, 208], [232, 134, 42], [47, 111, 208]][i]; // completed, p50, dropped, commit, gauge
	const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
	let n = 0;
	for (let at = 0; at < data.length; at += 4) {
		if (curve.every((want, c) => Math.abs(data[at + c] - want) < 30)) n++;
	}
	return n;
})`

func TestPageOpensInABrowser(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	ctx := browser(t)
	for name, count := range map[string]int{"pass": 4, "fail": 4, "invalid": 3, "lost": 4} { // invalid saw no database
		t.Run(name, func(t *testing.T) {
			var verdict, claim string
			var pixels []int
			open(
				t, ctx, pageOf(t, name), chromedp.Text("#verdict", &verdict), chromedp.Text("#claim", &claim),
				chromedp.Evaluate(painted, &pixels),
			)
			if c := example(name); verdict != c.Verdict || claim != c.Claim {
				t.Errorf("it says %s: %s", verdict, claim)
			}
			if len(pixels) != count {
				t.Errorf("%d charts, want %d", len(pixels), count)
			}
			for i, n := range pixels {
				if n < 100 {
					t.Errorf("chart %d has %d pixels of its curve", i, n)
				}
			}
		})
	}
}

// On a phone only tables, which scroll, are wider than the screen.
func TestPageFitsAPhone(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	var wide, screen int
	open(
		t, browser(t), pageOf(t, "fail"), emulation.SetDeviceMetricsOverride(390, 844, 3, true), chromedp.Reload(),
		chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide), chromedp.Evaluate(`innerWidth`, &screen),
	)
	if wide > screen || screen != 390 {
		t.Errorf("the page is %d wide on a screen of %d", wide, screen)
	}
}

// Without JavaScript the page has all tables, and no empty figures.
func TestPageWithoutJavaScript(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	var text string
	var figures int
	open(
		t, browser(t), pageOf(t, "fail"), emulation.SetScriptExecutionDisabled(true), chromedp.Reload(),
		chromedp.Text("body", &text),
		chromedp.Evaluate(`Array.from(document.querySelectorAll('figure')).filter((f) => f.offsetHeight > 0).length`, &figures),
	)
	for _, want := range []string{"FAIL", "Charts need JavaScript", "hold (judged)", "http_req_failed rate<0.1", "io/file/innodb/innodb_log_file", "violations/samples", "sync_binlog"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if figures != 0 {
		t.Errorf("%d charts are shown", figures)
	}
}

// Names and errors of a script that look like markup are shown as text.
func TestHostileText(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	ctx := browser(t)
	for i, text := range hostile {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := example("fail")
			c.Verdict, c.Profile, c.Claim, c.Run, c.Environment.Target = text, text, text, text, text
			c.Environment.Host.Name, c.Environment.Database.Variables = text, map[string]string{text: text}
			c.Limitations = append(c.Limitations, text)
			c.SLOs = append(c.SLOs, certificate.SLO{Metric: text, Expression: text, Unit: text, Observed: pointer(1.0), Verdict: text})
			c.Rules = append(c.Rules, certificate.Rule{ID: text, Detail: text, Advice: text, Unit: text, Verdict: text})
			c.Waits = append(c.Waits, certificate.Wait{Event: text, Class: text})
			c.Latency[text] = certificate.Latency{}
			curves := timeline("fail")
			curves.Curves.Spans[0].Name, curves.Stages[0][0].Text = text, text
			for i := range curves.Curves.Charts {
				curves.Curves.Charts[i].Title, curves.Curves.Charts[i].Curves[0].Label = text, text
			}
			data, err := page.HTML(Full(c, curves, ""))
			if err != nil {
				t.Fatal(err)
			}
			var pwned bool
			var shown string
			open(
				t, ctx, data, chromedp.Evaluate(`'pwned' in window || document.querySelector('main img, main script, main skipped') !== null`, &pwned),
				chromedp.Text("#claim", &shown),
			)
			if pwned {
				t.Error("the text became markup")
			}
			if want := page.Clean(strings.Join(strings.Fields(text), " ")); shown != want {
				t.Errorf("the claim reads %q, want %q", shown, want)
			}
		})
	}
}

func TestGaugeIsDrawn(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	r := queueRun()
	html, err := page.HTML(Full(build.Of(r), NewTimeline(r), ""))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(html), "<figcaption>queue_depth</figcaption>") {
		t.Error("the page has no figure for the gauge")
	}
	var pixels []int
	open(t, browser(t), html, chromedp.Evaluate(painted, &pixels))
	if len(pixels) != 5 || pixels[4] < 100 {
		t.Errorf("pixels of curves: %v", pixels)
	}
}
