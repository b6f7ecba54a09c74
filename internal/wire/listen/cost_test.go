package listen_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/wire/identity"
	"assay.dev/assay/internal/wire/listen"
)

const childVariable = "ASSAY_TEST_LISTEN"

func TestMain(m *testing.M) {
	if limits, ok := os.LookupEnv(childVariable); ok {
		if err := serveAlone(limits == "tight"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveAlone is the server in a process of its own. It answers /cpu with the process's
// CPU time in ns, and ends with its input.
func serveAlone(tight bool) error {
	i, err := identity.Random()
	if err != nil {
		return err
	}
	limits := listen.Limits{Burst: 1 << 30, Rate: 1 << 30, Pending: 1 << 30, PendingPerAddress: 1 << 30}
	if tight {
		limits = listen.Limits{Burst: 1, Rate: 1}
	}
	s, err := listen.Serve(listen.Options{
		Identity: i, Authorize: hasToken, Limits: limits, Log: slog.New(slog.DiscardHandler),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var used unix.Rusage
			if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = fmt.Fprint(w, used.Utime.Nano()+used.Stime.Nano()) // the benchmark notices
		}),
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Println(s.Address(), i.Fingerprint()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// BenchmarkRefused measures the CPU time of the server for one request or connection,
// and as a share of one core at 1,000 a second.
func BenchmarkRefused(b *testing.B) {
	for _, c := range []struct {
		name, scheme, token string
		keep, resume, tight bool
		status              int // 0: closed
	}{
		{name: "wrong token, new TLS connection", scheme: "https", token: "wrong-" + token, status: 401},
		{name: "wrong token, resumed TLS session", scheme: "https", token: "wrong-" + token, resume: true, status: 401},
		{name: "wrong token, new plain connection", scheme: "http", token: "wrong-" + token, status: 401},
		{name: "over the rate, new TLS connection", scheme: "https", token: "wrong-" + token, tight: true},
		{name: "right token, new TLS connection", scheme: "https", token: token, status: 200},
		{name: "right token, kept TLS connection", scheme: "https", token: token, keep: true, status: 200},
		{name: "right token, kept plain connection", scheme: "http", token: token, keep: true, status: 200},
	} {
		b.Run(c.name, func(b *testing.B) {
			url, pin := child(b, c.tight)
			trust := identity.Address{Fingerprint: pin}.TLS(token)
			post := func(client *http.Client, token string) (int, string, error) {
				r, err := http.NewRequest(http.MethodPost, c.scheme+url+"/cpu", strings.NewReader("a body"))
				if err != nil {
					return 0, "", err
				}
				r.Header.Set("Authorization", "Bearer "+token)
				resp, err := client.Do(r)
				if err != nil {
					return 0, "", nil // closed
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				return resp.StatusCode, string(body), err
			}
			observer := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
			cpu := func() int64 {
				_, body, err := post(observer, token)
				ns, bad := strconv.ParseInt(body, 10, 64)
				if err != nil || bad != nil {
					b.Fatal(err, bad)
				}
				return ns
			}
			config := trust.Clone()
			if c.resume {
				config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			}
			sender := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: !c.keep}}
			before := cpu()
			for b.Loop() {
				if status, _, err := post(sender, c.token); err != nil || status != c.status {
					b.Fatalf("%d, %v; want %d", status, err, c.status)
				}
			}
			each := time.Duration((cpu() - before) / int64(b.N))
			b.ReportMetric(float64(each.Microseconds()), "server-us/op")
			b.ReportMetric(each.Seconds()*1000*100, "%core-at-1000/s")
		})
	}
}

// child starts a server with one CPU, and returns the URL without its scheme.
func child(b *testing.B, tight bool) (url, pin string) {
	b.Helper()
	limits := "wide"
	if tight {
		limits = "tight"
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+limits, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = input.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	address, pin, _ := strings.Cut(strings.TrimSpace(line), " ")
	return "://" + address, pin
}
