package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fakegrafana:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	// Grafana stores its database there, and exits if it cannot.
	probe, err := os.CreateTemp(os.Getenv("GF_PATHS_DATA"), "probe-")
	if err != nil {
		return err
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return err
	}
	p, err := load(filepath.Clean(os.Getenv("GF_PATHS_PROVISIONING")), os.LookupEnv)
	if err != nil {
		return err
	}
	user, password := os.Getenv("GF_SECURITY_ADMIN_USER"), os.Getenv("GF_SECURITY_ADMIN_PASSWORD")
	if user == "" || password == "" {
		return fmt.Errorf("GF_SECURITY_ADMIN_USER or GF_SECURITY_ADMIN_PASSWORD is not set")
	}
	server := &http.Server{Addr: ":3000", Handler: p.handler(user, password), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func (p provisioned) handler(user, password string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"database": "ok"})
	})
	private := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			u, pw, _ := r.BasicAuth()
			if u != user || subtle.ConstantTimeCompare([]byte(pw), []byte(password)) != 1 {
				reply(w, http.StatusUnauthorized, map[string]string{"message": "Invalid username or password"})
				return
			}
			h(w, r)
		})
	}
	private("GET /api/search", func(w http.ResponseWriter, _ *http.Request) {
		found := []map[string]string{}
		for _, d := range p.dashboards {
			found = append(found, map[string]string{"uid": d.UID, "title": d.Title, "type": "dash-db"})
		}
		reply(w, http.StatusOK, found)
	})
	private("GET /api/datasources/uid/{uid}/health", func(w http.ResponseWriter, r *http.Request) {
		for _, d := range p.datasources {
			if d.UID != r.PathValue("uid") {
				continue
			}
			if err := d.test(r.Context()); err != nil {
				reply(w, http.StatusBadRequest, map[string]string{"status": "ERROR", "message": err.Error()})
				return
			}
			reply(w, http.StatusOK, map[string]string{"status": "OK"})
			return
		}
		reply(w, http.StatusNotFound, map[string]string{"message": "Data source not found"})
	})
	return mux
}

// test queries an InfluxDB as Grafana's datasource test does: it must accept the
// provisioned user, and have measurements.
func (d datasource) test(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	form := url.Values{"db": {fmt.Sprint(d.JSONData["dbName"])}, "q": {"SHOW MEASUREMENTS"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL+"/query", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(d.User, d.SecureJSONData.Password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	var answer struct {
		Error   string
		Results []struct {
			Error  string
			Series []json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: not InfluxDB: %w", resp.Status, err)
	}
	switch {
	case answer.Error != "":
		return fmt.Errorf("%s: %s", resp.Status, answer.Error)
	case len(answer.Results) == 0 || answer.Results[0].Error != "":
		return fmt.Errorf("%s: %s", resp.Status, body)
	case len(answer.Results[0].Series) == 0:
		return fmt.Errorf("%s: no measurement found", resp.Status)
	}
	return nil
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
