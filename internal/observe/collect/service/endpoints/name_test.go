package endpoints_test

import (
	"testing"

	"assay.dev/assay/internal/observe/collect/service/endpoints"
)

func TestParseService(t *testing.T) {
	t.Parallel()
	for host, want := range map[string][2]string{ // "": not the name of a Service
		"shop":                           {"shop", "own"},
		"Shop.":                          {"shop", "own"},
		"shop.prod":                      {"shop", "prod"},
		"shop.prod.svc":                  {"shop", "prod"},
		"shop.prod.svc.cluster.local":    {"shop", "prod"},
		"shop.prod.svc.cluster.local.":   {"shop", "prod"},
		"SHOP.Prod.SVC.Cluster.Local":    {"shop", "prod"},
		"example.com":                    {"example", "com"}, // the caller asks the cluster
		"www.example.com":                {},
		"pod-0.shop.prod":                {},
		"pod-0.shop.prod.svc":            {},
		"shop.prod.svc.example.com":      {},
		"shop.prod.pod.cluster.local":    {},
		"shop.svc":                       {"shop", "svc"},
		"shop.svc.cluster.local":         {},
		"10.1.2.3":                       {},
		"::1":                            {},
		"fd00::1":                        {},
		"localhost":                      {},
		"localhost.":                     {},
		"":                               {},
		".":                              {},
		"shop..prod":                     {},
		"shop_1":                         {},
		"shop.prod:80":                   {},
		"a/b":                            {},
		".prod.svc":                      {},
		"shop..svc":                      {},
		"svc":                            {"svc", "own"},
		"cluster.local":                  {"cluster", "local"},
		"shop.prod.svc.svc":              {},
		"shop.prod.svc.cluster.local.us": {},
	} {
		name, ns, ok := endpoints.ParseService(host, "own")
		if got := [2]string{name, ns}; got != want || ok != (want[0] != "") {
			t.Errorf("%q: %q, %t, want %q", host, got, ok, want)
		}
	}
	if name, _, ok := endpoints.ParseService("shop", ""); ok || name != "" {
		t.Error("outside of a cluster a plain name is the name of a Service")
	}
	if _, ns, ok := endpoints.ParseService("shop.prod", ""); !ok || ns != "prod" {
		t.Errorf("outside of a cluster: %q, %t", ns, ok)
	}
}

// Whatever is parsed is found again in each of the names that a pod may call.
func FuzzParseService(f *testing.F) {
	for _, host := range []string{"shop", "shop.prod.svc", "10.0.0.1", "a.b.svc.cluster.local."} {
		f.Add(host, "own")
	}
	f.Fuzz(func(t *testing.T, host, namespace string) {
		name, ns, ok := endpoints.ParseService(host, namespace)
		if !ok {
			if name+ns != "" {
				t.Fatalf("%q: %q, %q without a Service", host, name, ns)
			}
			return
		}
		for _, suffix := range []string{".svc", ".svc.cluster.local"} {
			if n, s, again := endpoints.ParseService(name+"."+ns+suffix, ""); !again || n != name || s != ns {
				t.Fatalf("%q: %q, %q, then %q, %q, %t", host, name, ns, n, s, again)
			}
		}
	})
}
