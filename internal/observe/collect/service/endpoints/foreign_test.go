package endpoints

import (
	"encoding/json"
	"net/url"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// FuzzSlices: of whatever a cluster lists, the endpoints are addresses with ports.
func FuzzSlices(f *testing.F) {
	f.Add(`[{"ports":[{"name":"http","port":8080,"protocol":"TCP"}],"endpoints":[{"addresses":["10.1.2.3"],"conditions":{"ready":true},"nodeName":"a","targetRef":{"kind":"Pod","uid":"u"}}]}]`, "http")
	f.Add(`[{"ports":[{"port":-1}],"endpoints":[{"addresses":["fe80::1%eth0"]},{"addresses":[]},{}]},{}]`, "")
	f.Fuzz(func(t *testing.T, text, port string) {
		var all []discoveryv1.EndpointSlice
		if json.Unmarshal([]byte(text), &all) != nil {
			return
		}
		for _, p := range []intstr.IntOrString{intstr.FromString(port), intstr.FromInt(len(port))} {
			urls := URLs(all, p, metricsPath)
			if !slices.IsSorted(urls) {
				t.Errorf("not sorted: %q", urls)
			}
			for _, text := range urls {
				if u, err := url.Parse(text); err != nil || u.Scheme != "http" || u.Port() == "" || u.Path != metricsPath {
					t.Errorf("%q: %v", text, err)
				}
			}
		}
		Nodes(all)
	})
}
