//go:build live

package doctor

import (
	"errors"
	"testing"

	"assay.dev/assay/internal/hint"
)

// A Service without a ready pod is refused; one whose instances cannot be listed is not, as
// its metrics can be read at the target.
func TestInstances(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		urls []string
		err  error
		want Finding
	}{
		"two":      {urls: []string{"http://10.0.0.1/metrics", "http://10.0.0.2/metrics"}, want: Finding{State: OK, Observed: "2 ready"}},
		"none":     {want: Finding{State: Lacking, Why: "the target's Service prod/shop has no pod that is ready", Remedy: "kubectl get endpointslices,pods --namespace prod"}},
		"no right": {err: hint.With(errors.New("forbidden"), "allow it"), want: Finding{State: Warning, Why: "the service's metrics cannot be read from each instance: forbidden", Remedy: "allow it"}},
	} {
		got := instances("prod/shop", c.urls, c.err)
		if got.State != c.want.State || got.Why != c.want.Why || got.Remedy != c.want.Remedy || c.want.Observed != "" && got.Observed != c.want.Observed {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
