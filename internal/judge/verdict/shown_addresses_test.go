package verdict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/synthetic"
)

// A service behind a name is only shown where the load went: addresses that nothing reached,
// names that changed, and traffic to one of several addresses are named.
func TestAddresses(t *testing.T) {
	const old, new, other, v6 = "192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"
	for name, c := range map[string]struct {
		first, last []string             // to which shop.test resolves
		requests    []map[string]float64 // of each worker
		connections map[string]float64   // instead, of the first worker
		claim       string
		limits      []string
	}{
		"one address": {[]string{old}, []string{old}, []map[string]float64{{old: 100}}, nil, "", nil},
		"its address changes, and all requests go to the old one": {
			[]string{old},
			[]string{new},
			[]map[string]float64{{old: 100}},
			nil, "left out: 192.0.2.2 of shop.test, which none of the requests reached",
			[]string{"shop.test resolved to 192.0.2.1 when the load began, and to 192.0.2.2 when it ended; its requests went to 192.0.2.1 (100 %) (open connections"},
		},
		"its address changes, and requests follow": {
			[]string{old},
			[]string{new},
			[]map[string]float64{{old: 60, new: 40}},
			nil, "",
			[]string{"and to 192.0.2.2 when it ended; its requests went to 192.0.2.1 (60 %) and 192.0.2.2 (40 %)"},
		},
		"an address is added": {
			[]string{old},
			[]string{old, new},
			[]map[string]float64{{old: 100}},
			nil, "left out: 192.0.2.2 of shop.test",
			[]string{"resolved to 192.0.2.1 when the load began, and to 192.0.2.1 and 192.0.2.2 when it ended"},
		},
		"one of three": {
			[]string{old, new, other},
			[]string{old, new, other},
			[]map[string]float64{{old: 100}},
			nil, "left out: 192.0.2.2 and 192.0.2.3 of shop.test, which none of the requests reached",
			[]string{"192.0.2.2 and 192.0.2.3"},
		},
		"nearly all to one of two": {
			[]string{old, new}, []string{old, new}, []map[string]float64{{old: 95, new: 5}}, nil, "", []string{"95 % of the requests to shop.test went to 192.0.2.1, one of its 2 addresses (open connections"},
		},
		"both":                   {[]string{old, new}, []string{old, new}, []map[string]float64{{old: 60, new: 40}}, nil, "", nil},
		"IPv6 beside it":         {[]string{old, v6}, []string{old, v6}, []map[string]float64{{old: 100}}, nil, "", nil},
		"connections of gRPC":    {[]string{old, new}, []string{old, new}, nil, map[string]float64{old: 4}, "left out: 192.0.2.2 of shop.test, which none of the connections reached", []string{"192.0.2.2"}},
		"workers apart":          {[]string{old, new}, []string{old, new}, []map[string]float64{{old: 100}, {new: 100}}, nil, "", []string{"workers reached different addresses of shop.test: worker/0 on synthetic 192.0.2.1, and worker/1 on synthetic 192.0.2.2"}},
		"a name not looked up":   {nil, nil, []map[string]float64{{old: 100}}, nil, "", nil},
		"both workers both ways": {[]string{old, new}, []string{old, new}, []map[string]float64{{old: 50, new: 50}, {new: 100}}, nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			workers := max(1, len(c.requests))
			s := synthetic.New(synthetic.Profile(), workers, func(int64) (float64, string) { return 1, metric.Completed })
			s.Run.Plan.Target = "http://shop.test"
			add := func(worker int, at time.Duration, name, address string, n float64) {
				for i, f := range s.Frames {
					if f.Source == metric.WorkerSource(worker) && f.Second == s.Run.Facts.T0.Add(at).Unix() && !f.Closing {
						s.Frames[i].Points = append(slices.Clone(f.Points), metric.CounterPoint(metric.Of(name, "host", "shop.test", "address", address), n))
						return
					}
				}
				t.Fatalf("no frame %s after the start", at)
			}
			for at := time.Duration(0); at < 30*time.Second; at += 5 * time.Second {
				addresses := c.first
				if at >= 15*time.Second {
					addresses = c.last
				}
				for w := range workers {
					for _, a := range addresses {
						add(w, at, metric.WorkerResolved, a, 1)
					}
				}
			}
			for w, requests := range c.requests {
				for address, n := range requests {
					add(w, 10*time.Second, metric.WorkerRequests, address+":80", n)
					add(w, time.Second, metric.WorkerConnections, address+":80", 2)
				}
			}
			for address, n := range c.connections {
				add(0, time.Second, metric.WorkerConnections, address+":50051", n)
			}
			v := Judge(s.Record())
			if v.Outcome != Pass {
				t.Fatal(v.Claim)
			}
			if got := strings.Contains(v.Claim, "left out"); got != (c.claim != "") || !strings.Contains(v.Claim, c.claim) {
				t.Errorf("claim %q, want %q", v.Claim, c.claim)
			}
			limits := ""
			for _, l := range v.Limitations {
				if strings.Contains(l, "shop.test") {
					limits += l + "\n"
				}
			}
			if c.limits == nil && limits != "" {
				t.Errorf("limitations %s", limits)
			}
			for _, part := range c.limits {
				if !strings.Contains(limits, part) {
					t.Errorf("limitations %s, want %q", limits, part)
				}
			}
			total := 0.0
			for _, a := range v.Generator.Addresses {
				total += a.Share
			}
			if len(v.Generator.Addresses) == 0 || fmt.Sprintf("%.3f", total) != "1.000" {
				t.Errorf("addresses %+v", v.Generator.Addresses)
			}
		})
	}
}

// A target to which the script sends nothing, or next to nothing, is in the claim.
func TestBesideTarget(t *testing.T) {
	const one, two = "192.0.2.1", "192.0.2.2"
	for name, c := range map[string]struct {
		target   string
		resolved []string
		requests map[string]float64 // by address
		grpc     map[string]float64 // connections
		want     string
	}{
		"another name":             {"http://shop.test", nil, map[string]float64{one + ":80": 10}, nil, "the target shop.test, to which 0 of 10 requests went: the script sent the others to 192.0.2.1 (192.0.2.1:80) (by"},
		"another address":          {"http://192.0.2.9", nil, map[string]float64{one + ":80": 10}, nil, "the target 192.0.2.9, to which 0 of 10"},
		"another port":             {"http://192.0.2.1:81", nil, map[string]float64{one + ":80": 10}, nil, "the target 192.0.2.1:81, to which 0 of 10"},
		"nearly all":               {"http://192.0.2.1", nil, map[string]float64{one + ":80": 1, two + ":80": 99}, nil, "the target 192.0.2.1, to which 1 of 100 requests went: the script sent the others to 192.0.2.2 (192.0.2.2:80) (by"},
		"two services":             {"http://192.0.2.1", nil, map[string]float64{one + ":80": 30, two + ":80": 70}, nil, ""},
		"the target":               {"http://192.0.2.1:80", nil, map[string]float64{one + ":80": 10}, nil, ""},
		"HTTPS":                    {"https://192.0.2.1", nil, map[string]float64{one + ":443": 10}, nil, ""},
		"an address of its name":   {"http://shop.test", []string{one}, map[string]float64{one + ":80": 10}, nil, ""},
		"localhost":                {"http://localhost:80", nil, map[string]float64{"127.0.0.1:80": 10}, nil, ""},
		"gRPC":                     {"http://192.0.2.1:80", nil, nil, map[string]float64{one + ":50051": 10}, ""},
		"gRPC, and HTTP elsewhere": {"http://192.0.2.1:80", nil, map[string]float64{two + ":80": 99}, map[string]float64{one + ":50051": 10}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := synthetic.New(synthetic.Profile(), 1, func(int64) (float64, string) { return 1, metric.Completed })
			s.Run.Plan.Target = c.target
			points := slices.Clone(s.Frames[0].Points)
			add := func(name, host, address string, n float64) {
				points = append(points, metric.CounterPoint(metric.Of(name, "host", host, "address", address), n))
			}
			for to, n := range c.requests {
				add(metric.WorkerRequests, to[:strings.Index(to, ":")], to, n)
				add(metric.WorkerConnections, to[:strings.Index(to, ":")], to, 1)
			}
			for to, n := range c.grpc {
				add(metric.WorkerConnections, to[:strings.Index(to, ":")], to, n)
			}
			for _, to := range c.resolved {
				add(metric.WorkerResolved, "shop.test", to, 1)
			}
			s.Frames[0].Points = points
			if v := Judge(s.Record()); strings.Contains(v.Claim, "the target") != (c.want != "") || !strings.Contains(v.Claim, c.want) {
				t.Errorf("%q, want %q", v.Claim, c.want)
			}
		})
	}
}
