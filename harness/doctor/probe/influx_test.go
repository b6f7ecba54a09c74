package probe

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/harness/lab/stack/process"
)

// influxd starts a real one that asks for a password, with one administrator.
func influxd(t *testing.T) string {
	t.Helper()
	program := os.Getenv("ASSAY_TEST_INFLUXD")
	if program == "" {
		t.Fatal("no InfluxDB to test with: ASSAY_TEST_INFLUXD is not set (run: make test)")
	}
	dir := t.TempDir()
	var ports []string
	for range 2 {
		port, err := process.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	cmd := exec.Command(program, "-config", os.DevNull)
	cmd.Env = append(
		os.Environ(), "INFLUXDB_REPORTING_DISABLED=true", "INFLUXDB_BIND_ADDRESS="+ports[0], "INFLUXDB_HTTP_BIND_ADDRESS="+ports[1],
		"INFLUXDB_HTTP_AUTH_ENABLED=true", "INFLUXDB_META_DIR="+filepath.Join(dir, "meta"),
		"INFLUXDB_DATA_DIR="+filepath.Join(dir, "data"), "INFLUXDB_DATA_WAL_DIR="+filepath.Join(dir, "wal"),
	)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := "http://" + ports[1]
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get(address + "/ping"); err == nil {
			_ = resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("influxd does not answer")
		}
	}
	query(t, address, "", "CREATE USER admin WITH PASSWORD 'secret' WITH ALL PRIVILEGES")
	return address
}

func query(t *testing.T, address, token, q string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, address+"/query", strings.NewReader("q="+strings.ReplaceAll(q, " ", "+")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if user, password, ok := strings.Cut(token, ":"); ok {
		req.SetBasicAuth(user, password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", q, resp.Status)
	}
}

func TestInflux(t *testing.T) {
	address := influxd(t)
	i := LookAtInflux(t.Context(), address+"/?db=view", "admin:secret", "assay")
	if i.Err != nil || i.Version == "" || i.Database != "view" || !i.Missing {
		t.Errorf("before the database is there: %+v", i)
	}
	query(t, address, "admin:secret", "CREATE DATABASE view")
	if i := LookAtInflux(t.Context(), address+"/?db=view", "admin:secret", "assay"); i.Err != nil || i.Missing {
		t.Errorf("once it is: %+v", i)
	}
	if i := LookAtInflux(t.Context(), address, "admin:secret", "assay"); i.Err != nil || i.Database != "assay" || !i.Missing {
		t.Errorf("another one: %+v", i)
	}
	for _, token := range []string{"", "admin:wrong", "some-token"} {
		if i := LookAtInflux(t.Context(), address, token, "assay"); i.Err == nil || !strings.Contains(i.Err.Error(), "ASSAY_INFLUX_TOKEN") {
			t.Errorf("with token %q: %+v", token, i)
		}
	}
}

func TestInfluxThatIsNone(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer other.Close()
	for name, c := range map[string]struct{ address, words string }{
		"no URL":  {"what", "not an http or https URL"},
		"nobody":  {"http://127.0.0.1:1", "refused"},
		"another": {other.URL, "does not answer as InfluxDB"},
		"hangs":   {"http://" + listen(t, hang), "deadline"},
		"secret":  {"http://me:hunter2@127.0.0.1:1/?db=x&p=hunter2", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			i := LookAtInflux(t.Context(), c.address, "admin:hunter2", "assay")
			if i.Err == nil || !strings.Contains(i.Err.Error(), c.words) || strings.Contains(i.Err.Error()+i.Shown, "hunter2") || time.Since(start) > bounded {
				t.Errorf("%+v", i)
			}
		})
	}
}
