//go:build live

package fleet_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/workertest"
	"assay.dev/assay/internal/wire"
)

// TestMain runs k6 when the test binary is re-executed with the argument k6.
func TestMain(m *testing.M) {
	workertest.Main(wire.Tool{})
	os.Exit(m.Run())
}

// check inspects a script.
func check(ctx context.Context, t *testing.T, script string, env ...string) error {
	t.Helper()
	_, err := inspect(ctx, t, script, env...)
	return err
}

func inspect(ctx context.Context, t *testing.T, script string, env ...string) (fleet.Script, error) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pay.js")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	return fleet.CheckScript(ctx, executable, path, env)
}

const body = "\nexport default function () {}\n"

// Each option that would override the plan is refused by name.
func TestOwnLoadIsRefused(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	for option, value := range map[string]string{
		"scenarios":            "{ a: { executor: 'shared-iterations', vus: 2, iterations: 10 } }",
		"duration":             "'10s'",
		"stages":               "[{ duration: '10s', target: 5 }]",
		"iterations":           "10",
		"vus":                  "5",
		"rps":                  "100",
		"minIterationDuration": "'1s'",
		"executionSegment":     "'0:1/2'",
	} {
		t.Run(option, func(t *testing.T) {
			err := check(t.Context(), t, "export const options = { "+option+": "+value+" };"+body)
			if err == nil || !strings.Contains(err.Error(), "must not set options."+option+": ") || hint.Of(err) == "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("refused with %v", err)
			}
		})
	}
}

// Options that do not change the load are allowed, and the script initialises with a
// worker's environment.
func TestScriptsThatAreAccepted(t *testing.T) {
	budget.CPUs(t, 0.1)
	t.Setenv("K6_VUS", "7") // a variable of the environment, not of the script
	err := check(t.Context(), t, `
if (__ENV.ASSAY_TARGET !== 'http://127.0.0.1:1') throw new Error('no target: ' + __ENV.ASSAY_TARGET);
export const options = { thresholds: { http_req_failed: ['rate<0.5'] }, userAgent: 'x', tags: { a: 'b' }, discardResponseBodies: true, setupTimeout: '5s' };
`+body, "ASSAY_TARGET=http://127.0.0.1:1")
	if err != nil {
		t.Error(err)
	}
}

// A script that cannot be used is told in one line, and takes neither all memory nor for ever.
func TestScriptsThatAreRefused(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	for name, c := range map[string]struct{ script, want string }{
		"syntax":       {"export default function () {", "does not initialise"},
		"throws":       {"throw new Error('no key');" + body, "no key"},
		"no import":    {"import x from './nope.js';" + body, "nope.js"},
		"no such file": {"open('/no/such/data.json');" + body, "data.json"},
		"allocates":    {"const all = []; for (;;) all.push(new ArrayBuffer(1 << 26));" + body, "it takes more than 2048 MiB of memory"},
		"opens zeros":  {"open('/dev/zero');" + body, "the scenario does not initialise"},
		"never ends":   {"for (;;) {}" + body, "does not initialise within 15s"},
	} {
		t.Run(name, func(t *testing.T) {
			err := check(t.Context(), t, c.script)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "pay.js") ||
				strings.Contains(err.Error(), "\n") || hint.Of(err) == "" {
				t.Errorf("refused with %v", err)
			}
		})
	}
	for name, want := range map[string]string{"zero.js": "not a regular file", "pipe.js": "not a regular file", "sparse.js": "the limit is"} {
		path := filepath.Join(t.TempDir(), name)
		err := map[string]func() error{
			"zero.js":   func() error { return os.Symlink("/dev/zero", path) },
			"pipe.js":   func() error { return syscall.Mkfifo(path, 0o600) },
			"sparse.js": func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 8<<30)) },
		}[name]()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fleet.CheckScript(t.Context(), "/no/such/program", path, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fleet.CheckScript(t.Context(), "/no/such/program", filepath.Join(t.TempDir(), "pay.js"), nil); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no script: %v", err)
	}
}

// ownCertificate is a certificate and its key as in a script's options.
func ownCertificate(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return "`" + string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})) + "`"
	}
	return "cert: " + text("CERTIFICATE", s.Certificate().Raw) + ", key: " + text("PRIVATE KEY", key)
}

// Options on connections are reported.
func TestOptionsOfConnections(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	for name, c := range map[string]struct {
		options string
		want    fleet.Script
	}{
		"none":          {"", fleet.Script{}},
		"turned off":    {"insecureSkipTLSVerify: false, noConnectionReuse: false, hosts: {}", fleet.Script{}},
		"unverified":    {"insecureSkipTLSVerify: true", fleet.Script{SkipsVerify: true}},
		"own hosts":     {"hosts: { 'shop.test': '127.0.0.1' }", fleet.Script{Hosts: true}},
		"per request":   {"noConnectionReuse: true", fleet.Script{Reconnects: true}},
		"per iteration": {"noVUConnectionReuse: true", fleet.Script{Reconnects: true}},
		"client TLS":    {"tlsAuth: [{ domains: ['shop.test'], " + ownCertificate(t) + " }]", fleet.Script{ClientTLS: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := inspect(t.Context(), t, "export const options = { "+c.options+" };"+body); err != nil || got != c.want {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// A script that never ends is stopped with its context.
func TestScriptThatLoops(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := check(ctx, t, "for (;;) {}"+body); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A k6 that only initialises a script ends with the process that has started it, however that
// ends: the script may go on for ever.
func TestScriptsEndWithTheirParent(t *testing.T) {
	if path := os.Getenv("ASSAY_TEST_ORPHAN"); path != "" {
		_, _ = fleet.CheckScript(t.Context(), os.Getenv("ASSAY_TEST_K6"), path, nil)
		return
	}
	dir := t.TempDir()
	k6, script, pid := filepath.Join(dir, "k6"), filepath.Join(dir, "pay.js"), filepath.Join(dir, "pid")
	if err := errors.Join(os.WriteFile(k6, []byte("#!/bin/sh\necho $$ > "+pid+"~ && mv "+pid+"~ "+pid+"; exec sleep 600\n"), 0o755), os.WriteFile(script, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self, "-test.run=^TestScriptsEndWithTheirParent$")
	parent.Env = append(os.Environ(), "ASSAY_TEST_ORPHAN="+script, "ASSAY_TEST_K6="+k6)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "k6 runs", func() bool { _, err := os.Stat(pid); return err == nil })
	text, _ := os.ReadFile(pid)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Of(n)
	if err := errors.Join(err, parent.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Kill() })
	_ = parent.Wait()
	polltest.Until(t, "k6 has ended", func() bool { return !child.Alive() })
}
