package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/wire"
)

// parent serves k6 on loopback, with a token of its own. Ready and start are passed on to
// the coordinator; reports are taken at once, and delivered later.
type parent struct {
	session *session
	url     string
	token   string
	server  *http.Server
	serving crash.Group
}

func serveK6(s *session) (*parent, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for k6: %w", err)
	}
	p := &parent{session: s, url: "http://" + listener.Addr().String(), token: rand.Text()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.PathReady, p.ready)
	mux.HandleFunc("POST "+wire.PathStart, p.start)
	mux.HandleFunc("POST "+wire.PathMetrics, p.metrics)
	mux.HandleFunc("POST "+wire.PathAcknowledged, p.acknowledged)
	p.server = &http.Server{Handler: p.authorized(mux), ReadHeaderTimeout: 10 * time.Second}
	p.serving.Go(func() { _ = p.server.Serve(listener) }) // ends with close
	return p, nil
}

// authorized rejects other processes than k6.
func (p *parent) authorized(next http.Handler) http.Handler {
	keys := wire.NewKeys(p.session.assignment.Run, p.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := keys.Sender(wire.Bearer(r)); !known {
			http.Error(w, "not this worker's k6", http.StatusUnauthorized)
			return
		}
		failed := crash.Call(func() error {
			next.ServeHTTP(w, r)
			return nil
		})
		if failed != nil {
			fail(w, failed)
		}
	})
}

// close is called when k6 has ended.
func (p *parent) close() {
	_ = p.server.Close() // closes the listener and its connections, which nobody uses
	p.serving.Wait()
}

func (p *parent) ready(w http.ResponseWriter, r *http.Request) {
	var m wire.Ready
	if !wire.Read(w, r, &m) {
		return
	}
	m.Archive, m.PID = p.session.assignment.Archive, p.session.k6PID()
	err := p.session.attempt(r.Context(), func(ctx context.Context) error { return p.session.link.Ready(ctx, m) })
	if err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (p *parent) start(w http.ResponseWriter, r *http.Request) {
	var m wire.StartRequest
	if !wire.Read(w, r, &m) {
		return
	}
	if len(m.Setup) > wire.MaxSetup {
		http.Error(w, fmt.Sprintf("setup() returned more than %d MiB", wire.MaxSetup>>20), http.StatusRequestEntityTooLarge)
		return
	}
	var answer *wire.StartResponse
	for answer == nil {
		err := p.session.attempt(r.Context(), func(ctx context.Context) (err error) {
			answer, err = p.session.link.Start(ctx, m.Setup)
			return err
		})
		if err != nil {
			fail(w, err)
			return
		}
	}
	answer.Local = time.Now().Add(p.session.clock.until(answer.T0))
	p.session.say("starting at %s", answer.T0.UTC().Format(time.TimeOnly))
	wire.Respond(w, http.StatusOK, answer)
}

func (p *parent) metrics(w http.ResponseWriter, r *http.Request) {
	if !p.spool(w, r, item{frames: true}) {
		return
	}
	if state := p.session.clock.state(); state != nil {
		text, err := json.Marshal(state)
		if err == nil {
			w.Header().Set(wire.HeaderClock, string(text))
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (p *parent) acknowledged(w http.ResponseWriter, r *http.Request) {
	sequence, err := strconv.ParseUint(r.Header.Get(wire.HeaderSequence), 10, 64)
	if err != nil {
		http.Error(w, "no sequence", http.StatusBadRequest)
		return
	}
	if p.spool(w, r, item{sequence: sequence}) {
		w.WriteHeader(http.StatusNoContent)
	}
}

func (p *parent) spool(w http.ResponseWriter, r *http.Request, i item) bool {
	var err error
	if i.body, err = io.ReadAll(r.Body); err == nil {
		err = p.session.spool.push(i)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest) // repeating it would not help
	}
	return err == nil
}

// fail passes the coordinator's refusal on.
func fail(w http.ResponseWriter, err error) {
	var refused *wire.RefusedError
	if errors.As(err, &refused) {
		http.Error(w, refused.Reason, refused.Status)
		return
	}
	http.Error(w, err.Error(), http.StatusGone)
}
