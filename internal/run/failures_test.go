//go:build live

package run_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/spec"
)

// badServer answers /N with that status, closes the connection of /close, and never answers
// anything else. Its gRPC calls fail with the code that they name.
type badServer struct {
	grpc_health_v1.UnimplementedHealthServer
	done chan struct{}
}

func (s *badServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch code, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); {
	case err == nil && code == http.StatusFound:
		http.Redirect(w, r, "/500", code)
	case err == nil:
		w.Header().Set("Upgrade", "other")
		w.WriteHeader(code)
	case r.URL.Path == "/close":
		panic(http.ErrAbortHandler)
	default:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
	}
}

func (s *badServer) Check(_ context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	n, _ := strconv.Atoi(r.Service)
	return &grpc_health_v1.HealthCheckResponse{}, status.Error(codes.Code(n), "no")
}

// Whatever a script does so that a failure is none, its transactions have failed; of answers
// that it may expect, they have completed, and these are listed.
func TestScriptsCannotExcuseFailures(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	s := &badServer{done: make(chan struct{})}
	server, secure := httptest.NewServer(s), httptest.NewTLSServer(s)
	defer server.Close()
	defer secure.Close()
	defer close(s.done)
	calls := serveCalls(t, s)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()

	const everything = `http.setResponseCallback(http.expectedStatuses({ min: 0, max: 999 }));`
	web := func(begin, body string) string {
		return "import http from 'k6/http';\nconst url = __ENV.ASSAY_TARGET;\n" + begin + "\nexport default " + body
	}
	socket := func(body string) string {
		return "import ws from 'k6/ws';\nimport { WebSocket } from 'k6/websockets';\nconst url = __ENV.ASSAY_TARGET.replace('http', 'ws');\nexport default " + body
	}
	call := func(code int, tag string) string {
		return fmt.Sprintf(`
import grpc from 'k6/net/grpc';
const client = new grpc.Client();
let connected = false;
export default function () {
  if (!connected) { client.connect('%s', { plaintext: true, reflect: true }); connected = true; }
  client.invoke('grpc.health.v1.Health/Check', { service: '%d' }, { tags: { expected_status: '%s' } });
}`, calls, code, tag)
	}
	fails := map[string]string{
		"null":        web(`http.setResponseCallback(null);`, `function () { http.get(url + '/500'); }`),
		"range":       web(everything, `function () { http.get(url + '/500'); }`),
		"request":     web(``, `function () { http.get(url + '/503', { responseCallback: http.expectedStatuses(503) }); }`),
		"batch":       web(everything, `function () { http.batch([['GET', url + '/200'], ['GET', url + '/500']]); }`),
		"async":       web(everything, `async function () { await Promise.allSettled([http.asyncRequest('GET', url + '/502')]); }`),
		"redirect":    web(everything, `function () { http.get(url + '/302'); }`),
		"unanswered":  web(everything, `function () { http.get(url + '/never', { timeout: '100ms' }); }`),
		"reset":       web(everything, `function () { http.get(url + '/close'); }`),
		"refused":     web(everything, `function () { http.get('http://`+closed.Addr().String()+`/'); }`),
		"tls":         web(everything, `function () { http.get('`+secure.URL+`/200'); }`),
		"switched":    web(everything, `function () { try { http.get(url + '/101'); } catch (e) {} }`),
		"ws":          socket(`function () { ws.connect(url + '/500', { tags: { expected_status: '101,500' } }, () => {}); }`),
		"websockets":  socket(`function () { new WebSocket(url + '/403', null, { tags: { expected_status: '403' } }).onerror = () => {}; }`),
		"forged":      socket(`function () { ws.connect('ws://` + closed.Addr().String() + `/', { tags: { status: '101' } }, () => {}); }`),
		"unconnected": "import grpc from 'k6/net/grpc';\n" + web(`const client = new grpc.Client();`, `function () { http.get(url + '/200'); try { client.connect('`+closed.Addr().String()+`', { plaintext: true, timeout: '500ms' }); } catch (e) {} }`),
		"unavailable": call(14, "0,14"),
		"unknown":     call(2, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"),
	}
	completes := map[string]string{
		"missing":   web(everything, `function () { http.get(url + '/404'); }`),
		"not-found": call(5, "0,5"),
		"profile":   web(``, `function () { http.get(url + '/503'); }`),
	}
	scripts, flows := map[string]string{}, []spec.Flow{}
	for _, all := range []map[string]string{fails, completes} {
		for name, script := range all {
			scripts[name+".js"] = script
			f := spec.Flow{Name: name, Scenario: name + ".js", Timeout: 5 * time.Second, SLOs: []spec.SLO{below(50, 4000)}, Load: stages(
				spec.Stage{Rate: 2, For: time.Second}, spec.Stage{Rate: 4, For: 3 * time.Second, Judge: true},
			)}
			if name == "profile" {
				f.Expected.HTTP = []int{503}
			}
			flows = append(flows, f)
		}
	}
	o := options(t, steady(1, time.Second), getScript, server.URL)
	v := verdict.Judge(certify(t, withFlows(t, o, scripts, flows...)))
	excused := map[string]int64{}
	for _, left := range v.LeftOut {
		if left.Reason == "excused-responses" {
			excused[left.Flow] = *left.Requests
		}
	}
	for _, f := range v.Flows {
		failing, n := *f.Outcomes.Completed == 0 && *f.Outcomes.Failed > 0, *f.Outcomes.Completed
		if _, want := fails[f.Name]; failing != want {
			t.Errorf("%s: %d completed, %d failed, %d timed out", f.Name, n, *f.Outcomes.Failed, *f.Outcomes.TimedOut)
		}
		if excused[f.Name] != n {
			t.Errorf("%s: %d excuses are listed, and %d transactions completed", f.Name, excused[f.Name], n)
		}
	}
}
