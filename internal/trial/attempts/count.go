package attempts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Group is a number of earlier attempts that are alike.
type Group struct {
	Revision string `json:"revision,omitempty"`
	Setup    string `json:"setup,omitempty"`
	Verdict  string `json:"verdict,omitempty"`
	Runs     int    `json:"runs"`
}

// maxGroups limits what is handed over to a coordinator elsewhere.
const maxGroups = 50

// groups are earlier attempts, those that are alike together.
func groups(before []entry) (all []Group) {
	for _, e := range before {
		g := Group{Revision: e.Revision, Setup: e.Setup, Verdict: e.Verdict}
		i := slices.IndexFunc(all, func(other Group) bool { g.Runs = other.Runs; return other == g })
		if i < 0 {
			g.Runs = 0
			i, all = len(all), append(all, g)
		}
		all[i].Runs++
	}
	return all
}

// count is the number of a run, and the attempts before it: those of the same revision, and
// those of which it is not known. unread lines may be more of them.
func count(all []Group, own entry, unread int) (n int, earlier *record.Earlier) {
	earlier = &record.Earlier{Unread: unread, Verdicts: []record.Verdicts{}}
	n = 1
	for _, g := range all {
		if g.Revision != own.Revision && g.Revision != "" && own.Revision != "" {
			continue
		}
		n += g.Runs
		if g.Setup == own.Setup && own.Setup != "" {
			earlier.Same += g.Runs
		}
		i := slices.IndexFunc(earlier.Verdicts, func(v record.Verdicts) bool { return v.Verdict == g.Verdict })
		if i < 0 {
			i, earlier.Verdicts = len(earlier.Verdicts), append(earlier.Verdicts, record.Verdicts{Verdict: g.Verdict})
		}
		earlier.Verdicts[i].Runs += g.Runs
	}
	last := func(v record.Verdicts) string { return cmp.Or(v.Verdict, "without") }
	slices.SortFunc(earlier.Verdicts, func(a, b record.Verdicts) int { return cmp.Compare(last(a), last(b)) })
	return n, earlier
}

// place is the target of a URL in one spelling: its host in lower case, with the port. All
// addresses of loopback are one host.
func place(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" {
		return strings.ToLower(target)
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		host = "localhost"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(host, cmp.Or(port, "80"))
}

// unlisted are the attempts in the folder of runs that the journal does not have: it was
// removed, or begun later.
func (j Journal) unlisted(listed []entry, own entry) (all []entry) {
	if j.Runs == "" {
		return nil
	}
	for p := range record.Plans(j.Runs) {
		if p.Profile.Name != own.Profile || place(p.Target) != own.Target || p.Scope == spec.ScopeTrial ||
			slices.ContainsFunc(listed, func(e entry) bool { return e.Run == p.Run }) {
			continue
		}
		e := entryOf(p, record.Environment{})
		if name := filepath.Base(p.Run); name == p.Run {
			e.Verdict = verdictIn(filepath.Join(j.Runs, name))
		}
		all = append(all, e)
	}
	return all
}

// verdictIn is the verdict of a run's certificate; empty: it has none.
func verdictIn(dir string) string {
	var c struct {
		Verdict string `json:"verdict"`
	}
	data, err := foreign.ReadIn(dir, issue.CertificateFile, record.MaxDocument)
	if err != nil || foreign.CheckJSON(data, record.MaxValues) != nil || json.Unmarshal(data, &c) != nil || !slices.Contains(record.Outcomes, c.Verdict) {
		return ""
	}
	return c.Verdict
}

// Hand counts a run that a coordinator elsewhere makes, and returns what that needs to know
// of the attempts before it: what it asks and the service's build are not known here yet.
func (j Journal) Hand(run string, p spec.Profile, target string) (string, error) {
	before, unread, err := j.begin(entry{Run: run, Profile: p.Name, Target: place(target)})
	h := handed{Unread: unread}
	if err != nil {
		h.Unknown = err.Error()
	}
	h.Groups = groups(before)
	if len(h.Groups) > maxGroups { // a revision that is not known counts as the run's own
		slices.SortStableFunc(h.Groups, func(a, b Group) int { return cmp.Compare(b.Runs, a.Runs) })
		rest := map[string]int{}
		for _, g := range h.Groups[maxGroups-len(record.Outcomes):] {
			rest[g.Verdict] += g.Runs
		}
		h.Groups = h.Groups[:maxGroups-len(record.Outcomes)]
		for verdict, runs := range rest {
			h.Groups = append(h.Groups, Group{Verdict: verdict, Runs: runs})
		}
	}
	data, err := json.Marshal(h)
	return string(data), err
}

// handed is what a coordinator elsewhere is told.
type handed struct {
	Groups  []Group `json:"groups,omitempty"`
	Unread  int     `json:"unread,omitempty"`
	Unknown string  `json:"unknown,omitempty"` // why nothing is known of them
}

// Handed returns the function that counts a run by what Hand has returned elsewhere.
func Handed(text string) (func(record.Plan, record.Environment) (int, *record.Earlier), error) {
	var h handed
	if text == "" {
		h.Unknown = "the run was not counted where it was requested"
	} else if err := foreign.DecodeJSON([]byte(text), 8*maxGroups, &h); err != nil {
		return nil, fmt.Errorf("earlier attempts: %w", err)
	}
	return func(p record.Plan, e record.Environment) (int, *record.Earlier) {
		if h.Unknown != "" {
			return 0, &record.Earlier{Unknown: h.Unknown}
		}
		return count(h.Groups, entryOf(p, e), h.Unread)
	}, nil
}
