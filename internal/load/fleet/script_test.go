package fleet_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/mask"
)

func TestFirstProblem(t *testing.T) {
	for _, c := range []struct{ log, want string }{
		{`time="2026-11-20T23:54:40Z" level=info msg="nothing wrong"`, ""},
		{
			`time="2026-11-21T03:55:50Z" level=error msg="Uncaught (in promise) ReferenceError: undefinedFn is not defined\n\tat default (file:///srv/thrower.js:2:47(2))\n" executor=assay-arrivals scenario=checkout`,
			"Uncaught (in promise) ReferenceError: undefinedFn is not defined (thrower.js:2:47)",
		},
		{
			"time=\"2026-11-21T03:56:21Z\" level=warning msg=\"Request Failed\" error=\"Post \\\"http://127.0.0.1:28093/cart/buy\\\": dial tcp 127.0.0.1:28093: connect: connection refused\"\n" +
				"time=\"2026-11-21T03:56:22Z\" level=error msg=later",
			`Request Failed: Post "http://127.0.0.1:28093/cart/buy": dial tcp 127.0.0.1:28093: connect: connection refused`,
		},
		{
			`time="2026-11-21T05:34:05Z" level=warning msg="Stopped after 11 redirects and returned the redirection; pass { redirects: n } in request params or set global maxRedirects to silence this" url="http://127.0.0.1:34931/"`,
			"Stopped after 11 redirects and returned the redirection",
		},
		{`time="2026-11-21T05:34:19Z" level=warning msg="No script iterations fully finished, consider making the test duration longer"`, ""},
	} {
		if got := fleet.FirstProblem([]byte(c.log)); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.log, got, c.want)
		}
	}
}

// The first exception of the script is found behind other problems, and without a log there is
// none.
func TestFirstException(t *testing.T) {
	log := `time="2026-11-21T03:56:21Z" level=warning msg="Request Failed" error="Get \"http://127.0.0.1:1/\": connection refused"
time="2026-11-21T03:56:21Z" level=error msg="no exception"
time="2026-11-21T03:56:22Z" level=error msg="Uncaught (in promise) TypeError: Cannot read property 'id' of undefined\n\tat default (file:///srv/pay.js:2:47(2))\n" executor=assay-arrivals scenario=pay source=stacktrace
time="2026-11-21T03:56:23Z" level=error msg="Error: later\n" source=stacktrace`
	if got, want := fleet.FirstException([]byte(log)), "Uncaught (in promise) TypeError: Cannot read property 'id' of undefined (pay.js:2:47)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := fleet.FirstException(nil); got != "" {
		t.Errorf("%q of an empty log", got)
	}
}

// What is rewritten or cut is masked before: the rest of a secret is no secret that is known.
func TestLogsHoldNoPartOfASecret(t *testing.T) {
	mask.Add("p@ss/w0rdlongpart")
	for _, log := range []string{
		`level=error msg="Error: cannot read file:///p@ss/w0rdlongpart\n\tat file:///srv/pay.js:1:34(3)\n"`,
		`level=error msg="Error: cannot read file:///srv/p@ss\u002fw0rdlongpart"`,
		"panic: " + strings.Repeat("a", 195) + "p@ss/w0rdlongpart",
	} {
		if got := fleet.LastError([]byte(log)) + fleet.FirstProblem([]byte(log)); !strings.Contains(got, "***") || strings.Contains(got, "p@s") || strings.Contains(got, "w0rd") {
			t.Errorf("%s: %q", log, got)
		}
	}
}

// Logs of k6 v2.2.0, and the line shown of each.
func TestLastErrorIsOneLineWithItsPlace(t *testing.T) {
	for _, c := range []struct{ log, want string }{
		{"", ""},
		{`time="2026-11-20T23:54:40Z" level=info msg="nothing wrong"`, ""},
		{`time="2026-11-20T23:54:40Z" level=error msg=a` + "\npanic: runtime error: index out of range [3] with length 0\n\ngoroutine 7 [running]:\nmain.f(...)\n", "panic: runtime error: index out of range [3] with length 0"},
		{"fatal error: concurrent map writes\n\ngoroutine 7 [running]:\n", "fatal error: concurrent map writes"},
		{"SIGABRT: abort\nPC=0x4976e3 m=0 sigcode=0\n", "SIGABRT: abort"},
		{`time="2026-11-20T23:54:40Z" level=error msg="this program failed: a mistake, at internal/load/k6/output.go:7"`, "this program failed: a mistake, at internal/load/k6/output.go:7"},
		{
			`time="2026-11-20T23:54:40Z" level=error msg="Error: nobody is at home\n\tat file:///srv/scenarios/pay.js:1:34(3)\n" hint="script exception"`,
			"Error: nobody is at home (pay.js:1:34)",
		},
		{
			`time="2026-11-20T23:54:40Z" level=error msg="TypeError: line one\nline two\n\tat deep (file:///srv/lib/a.js:1:25(3))\n\tat file:///srv/pay.js:2:5(14)\n" hint="script exception"`,
			"TypeError: line one (a.js:1:25)",
		},
		{
			`time="2026-11-20T23:54:40Z" level=error msg="GoError: stat /srv/data.json: no such file or directory\n\tat open (native)\n\tat file:///srv/pay.js:3:15(7)\n"`,
			"GoError: stat /srv/data.json: no such file or directory (pay.js:3:15)",
		},
		{
			`time="2026-11-20T23:54:40Z" level=error msg="could not initialize 'pay.js': could not load JS test 'file:///srv/pay.js': file:///srv/pay.js: Line 2:1 Unexpected end of input (and 4 more errors)"`,
			"pay.js: Line 2:1 Unexpected end of input (and 4 more errors)",
		},
		{
			`time="2026-11-20T23:54:40Z" level=error msg="could not initialize 'pay.js': could not load JS test 'file:///srv/pay.js': The moduleSpecifier \"./nope.js\" couldn't be found on local disk. Make sure that you've specified the right path to the file."`,
			`The moduleSpecifier "./nope.js" couldn't be found on local disk`,
		},
		{
			`time="2026-11-20T23:54:40Z" level=error msg="There were problems with the specified script configuration:\n\t- executor payment: function 'default' not found in exports"`,
			"There were problems with the specified script configuration: executor payment: function 'default' not found in exports",
		},
		{
			"time=\"2026-11-20T23:54:40Z\" level=error msg=first\ntime=\"2026-11-20T23:54:41Z\" level=fatal msg=second\ntime=\"2026-11-20T23:54:41Z\" level=info msg=third",
			"second",
		},
	} {
		if got := fleet.LastError([]byte(c.log)); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.log, got, c.want)
		}
	}
}

// A tail begins with a whole line: half of a secret would not be masked.
func TestTailBeginsWithALine(t *testing.T) {
	var kept fleet.Tail
	for range 30_000 {
		if _, err := kept.Write([]byte("012345678\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kept.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	text := string(kept.Bytes())
	if !strings.HasPrefix(text, "012345678\n") || kept.LastLine() != "end" || len(text) > 200_000 {
		t.Errorf("%d bytes that begin with %.20q and end with %q", len(text), text, kept.LastLine())
	}
}
