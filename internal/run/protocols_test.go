//go:build live

package run_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// callScript makes a gRPC request, and opens a WebSocket by each module of k6, per
// transaction. It reads the service's schema by reflection.
const callScript = `
import grpc from 'k6/net/grpc';
import ws from 'k6/ws';
import { WebSocket } from 'k6/websockets';
const client = new grpc.Client();
let connected = false;
export default function () {
  if (!connected) {
    client.connect('GRPC', { plaintext: true, reflect: true });
    connected = true;
  }
  client.invoke('grpc.health.v1.Health/Check', { service: 'pay' }, { timeout: '1s' });
  const url = __ENV.ASSAY_TARGET.replace('http', 'ws') + '/prices';
  ws.connect(url, { tags: { name: 'prices' } }, (socket) => {
    socket.on('open', () => socket.send('a'));
    socket.on('message', () => socket.close());
  });
  const feed = new WebSocket(url, null, { tags: { name: 'feed' } });
  feed.onopen = () => feed.send('a');
  feed.onmessage = () => feed.close();
}`

// callServer answers gRPC requests, and echoes the messages of WebSockets.
type callServer struct {
	grpc_health_v1.UnimplementedHealthServer
	failing       bool // each third request
	hangs         bool // each third call is not answered
	calls, opened atomic.Int64
}

func (s *callServer) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if s.failing && s.calls.Add(1)%3 == 0 {
		return nil, status.Error(codes.Unavailable, "no")
	}
	if s.hangs && s.calls.Add(1)%3 == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func (s *callServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.failing && websocket.IsWebSocketUpgrade(r) && s.opened.Add(1)%3 == 0 {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return // the answer says why
	}
	defer c.Close()
	for {
		kind, message, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// The endpoints of gRPC requests and WebSockets are in the certificate, and SLOs on them
// decide the verdict.
func TestCertifiesCalls(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	for _, c := range []struct {
		name           string
		failing, hangs bool
		want           verdict.Outcome
	}{{"answered", false, false, verdict.Pass}, {"failing", true, false, verdict.Fail}, {"unanswered", false, true, verdict.Fail}} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, c.want, func(t *testing.T) verdict.Verdict {
				return certifyCalls(t, &callServer{failing: c.failing, hangs: c.hangs}, c.want)
			})
		})
	}
}

// serveCalls serves gRPC, with reflection, until the test ends, and returns its address.
func serveCalls(t *testing.T, s grpc_health_v1.HealthServer) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(calls, s)
	reflection.Register(calls)
	served := make(chan error, 1)
	go func() { served <- calls.Serve(listener) }()
	t.Cleanup(func() {
		calls.Stop()
		<-served
	})
	return listener.Addr().String()
}

func certifyCalls(t *testing.T, s *callServer, want verdict.Outcome) verdict.Verdict {
	t.Helper()
	address := serveCalls(t, s)
	server := httptest.NewServer(s)
	defer server.Close()

	const check = "/grpc.health.v1.Health/Check"
	p := loose(steady(20, 10*time.Second))
	p.Flows[0].SLOs = []spec.SLO{
		{Metric: metric.GRPC.Failed, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1},
		{Metric: metric.WebSocket.Failed, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1},
		{Metric: metric.GRPC.Duration(), Selector: []metric.Label{{Key: "name", Value: check}}, Expression: "p(50)<500", Aggregate: spec.Percentile, Quantile: 0.5, Operator: "<", Bound: 500},
	}
	v := verdict.Judge(certify(t, options(t, p, strings.ReplaceAll(callScript, "GRPC", address), server.URL)))
	for i, slo := range v.SLOs[:2] {
		if i == 0 || !s.hangs { // WebSockets are answered
			if slo.Outcome == want {
				continue
			}
			t.Errorf("%s %s is %s: %+v", slo.Metric, slo.Expression, slo.Outcome, slo)
		}
	}
	if slo := v.SLOs[2]; !s.failing && !s.hangs && slo.Outcome != verdict.Pass { // failed requests violate it too
		t.Errorf("%s %s is %s: %+v", slo.Metric, slo.Expression, slo.Outcome, slo)
	}
	for _, name := range []string{check, "prices", "feed"} {
		if !hasLatency(v, name) {
			t.Errorf("endpoint %s has no percentiles: %+v", name, v.Latency)
		}
	}
	return v
}

func hasLatency(v verdict.Verdict, name string) bool {
	l := v.Latency[name]
	return l.P95 != nil && *l.P95 > 0 && l.Count > 100
}
