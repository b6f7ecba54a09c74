package mark

import (
	"errors"
	"net/http"
	"strconv"

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/js/modules"
	k6http "go.k6.io/k6/v2/js/modules/k6/http"
	"go.k6.io/k6/v2/lib"

	"assay.dev/assay/internal/load/answer"
)

// Register lets scripts import our k6/http, which is k6's own with marked requests and
// limited answers. k6 v2 looks extensions up after its own modules, by name; only
// modules.Register, which is not used here, wants names that begin with k6/x/. So VUs,
// setup() and teardown() are reached without k6's private fields.
func (m *Marks) Register() {
	ext.Register("k6/http", ext.JSExtension, &module{k6http.New(), m})
}

// module is k6/http.
type module struct {
	base  *k6http.RootModule
	marks *Marks
}

// NewModuleInstance makes the module of a VU.
func (m *module) NewModuleInstance(vu modules.VU) modules.Instance {
	return m.base.NewModuleInstance(&markedVU{vu, m.marks})
}

// markedVU is a VU whose requests are marked.
type markedVU struct {
	modules.VU
	marks *Marks
}

// State is that of the VU, nil in the init context. The module calls it at each request,
// before it is sent.
func (v *markedVU) State() *lib.State {
	s := v.VU.State()
	if s == nil {
		return s
	}
	if _, ours := s.Transport.(*transport); !ours {
		t := &transport{next: s.Transport, marks: v.marks, dumped: s.Options.HTTPDebug.String != ""}
		if v.marks.fixed != nil {
			t.vu = v.marks.vu(strconv.FormatUint(s.VUID, 10))
		}
		s.Transport = t
	}
	return s
}

// transport marks the requests of one VU, and limits their answers. k6 calls it for each
// hop of a redirect.
type transport struct {
	next   http.RoundTripper
	marks  *Marks
	vu     *vu  // nil: requests are not marked
	dumped bool // answers are, by k6's option httpDebug
}

var errSwitched = errors.New("the answer is 101 Switching Protocols, which k6/http does not support")

// RoundTrip marks and sends a request. The headers are of this request alone: k6 makes
// them for it, and net/http copies those of a redirect before the first hop is sent.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.vu != nil {
		of := t.vu.current.Load()
		if of == nil {
			of = t.marks.outside
		}
		of.Mark(r.Header)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// k6 throws for this answer, and does not report the request.
	if resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		return nil, errSwitched
	}
	answer.Limit(resp, t.dumped)
	return resp, nil
}
