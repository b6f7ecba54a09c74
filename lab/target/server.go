package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"assay.dev/assay/lab/target/gateway"
)

// codeClientLeft is counted for requests whose client has disconnected. It is not sent.
const codeClientLeft = 499

// server answers HTTP.
type server struct {
	db       *database
	payments *payments
	events   *ingestion
	m        *metrics
	log      *limitedLog
	timeout  time.Duration // timeout of one request
	limit    *limiter      // nil: none
	work     time.Duration // least time of a request of the load
	requests *requestLog   // nil: requests are not logged
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /payments", s.limited(s.createPayment))
	mux.HandleFunc("GET /payments/{id}", s.limited(s.showPayment))
	mux.HandleFunc("GET /{$}", s.limited(s.ingestQuery))
	mux.HandleFunc("POST /events", s.limited(s.ingestBody))
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("GET /metrics", s.m.handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { writeError(w, http.StatusNotFound, "no such route") })
	return s.measured(mux)
}

// notLoad are the patterns of requests that are no payments and no events.
var notLoad = []string{"GET /healthz", "GET /metrics", "/"}

// measured limits a request's body and time, and records its duration.
func (s *server) measured(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		a := &answer{ResponseWriter: w, code: http.StatusOK}
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		defer func() {
			left := recover()
			switch left {
			case nil:
			case http.ErrAbortHandler:
				a.code = codeClientLeft
			default:
				a.code = http.StatusInternalServerError
			}
			route := r.Pattern // not the path, which would make unbounded labels
			if route == "" || route == "/" {
				route = "other"
			}
			took := time.Since(start)
			s.m.requests.WithLabelValues(route, strconv.Itoa(a.code)).Observe(took.Seconds())
			if s.requests != nil && r.Pattern != "" && !slices.Contains(notLoad, r.Pattern) {
				s.requests.add(r, a.code, took)
			}
			if left != nil {
				panic(left)
			}
		}()
		mux.ServeHTTP(a, r)
	})
}

// answer records the status code.
type answer struct {
	http.ResponseWriter
	code int
}

func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

func (s *server) createPayment(w http.ResponseWriter, r *http.Request) {
	req, err := parsePayment(r.Body)
	if err != nil {
		refuse(w, err)
		return
	}
	made, created, err := s.payments.create(gateway.WithTrace(r.Context(), r.Header.Get("traceparent")), req)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	code := http.StatusOK
	switch {
	case made.State == statePending: // also for a repeated request
		code = http.StatusAccepted
	case created:
		code = http.StatusCreated
	}
	s.reply(w, r, code, map[string]string{"id": made.ID, "state": made.State})
}

func (s *server) showPayment(w http.ResponseWriter, r *http.Request) {
	pool := s.db.scope()
	defer pool.close()
	found, err := s.payments.find(r.Context(), pool, r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.reply(w, r, http.StatusOK, found)
}

func (s *server) ingestQuery(w http.ResponseWriter, r *http.Request) {
	e, err := parseEventQuery(r.URL.Query())
	s.ingest(w, r, e, err)
}

func (s *server) ingestBody(w http.ResponseWriter, r *http.Request) {
	e, err := parseEventBody(r.Body)
	s.ingest(w, r, e, err)
}

func (s *server) ingest(w http.ResponseWriter, r *http.Request, e event, err error) {
	if err != nil {
		refuse(w, err)
		return
	}
	stored, err := s.events.accept(r.Context(), e)
	switch {
	case err != nil:
		s.fail(w, r, err)
	case stored:
		s.reply(w, r, http.StatusOK, map[string]string{"id": e.ID})
	default:
		s.reply(w, r, http.StatusAccepted, map[string]string{"id": e.ID})
	}
}

func (s *server) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.db.ping(ctx); err != nil {
		s.log.error("health", err)
		writeError(w, http.StatusServiceUnavailable, "database is unreachable")
		return
	}
	s.reply(w, r, http.StatusOK, map[string]string{"status": "ok"})
}

// fail responds to an error of the caller with its status, and to any other with 503.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	abortIfLeft(r)
	switch {
	case errors.Is(err, errNotFound):
		writeError(w, http.StatusNotFound, err.Error())
	case errors.Is(err, errInProgress), errors.Is(err, errIDTaken):
		writeError(w, http.StatusConflict, err.Error())
	case errors.Is(err, errReused):
		writeError(w, http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, errBusy):
		s.m.errors.WithLabelValues(err.Error()).Inc()
		writeError(w, http.StatusServiceUnavailable, fmt.Sprintf("%s within %s", err, s.timeout))
	case errors.Is(err, errFull), errors.Is(err, errStopping):
		s.m.errors.WithLabelValues(err.Error()).Inc()
		writeError(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, errBroker):
		s.log.error("request failed", err, "route", r.Pattern)
		writeError(w, http.StatusServiceUnavailable, errBroker.Error())
	case errors.Is(err, context.DeadlineExceeded):
		s.log.error("request timed out", err, "route", r.Pattern)
		writeError(w, http.StatusServiceUnavailable, fmt.Sprintf("timed out after %s", s.timeout))
	default:
		s.log.error("request failed", err, "route", r.Pattern)
		writeError(w, http.StatusServiceUnavailable, "database failed")
	}
}

// abortIfLeft aborts the request if the client has disconnected: otherwise net/http would
// write a 200.
func abortIfLeft(r *http.Request) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		panic(http.ErrAbortHandler)
	}
}

func (s *server) reply(w http.ResponseWriter, r *http.Request, code int, body any) {
	abortIfLeft(r)
	writeJSON(w, code, body)
}

func refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		code = http.StatusRequestEntityTooLarge
	}
	writeError(w, code, err.Error())
}

func writeError(w http.ResponseWriter, code int, msg string) {
	writeJSON(w, code, map[string]string{"error": msg})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has disconnected
}
