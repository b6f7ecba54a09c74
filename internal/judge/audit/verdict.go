package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/certificate"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// checkVerdict recomputes the certificate from the evidence: it must be the same, byte
// for byte.
func checkVerdict(r *Report, f files, tool record.Tool) (run record.Run, opened bool) {
	run, opened = openRun(r, f)
	if !opened {
		r.add(Verdict, NotChecked, "the evidence cannot be read")
		return run, opened
	}
	again := certificate.Of(run)
	if f.stated.Signed && f.stated.Issuer != nil {
		again = again.SignedBy(*f.stated.Issuer, f.stated.Evidence.Sealed)
	}
	data, err := certificate.Marshal(again)
	switch {
	case err != nil:
		r.add(Verdict, Failed, "%v", err)
	case bytes.Equal(data, f.data):
		r.add(Verdict, OK, "%s, the same when recomputed from the evidence", again.Verdict)
	default:
		why := ""
		if made := run.Plan.Tool; made.Revision == "" || made.Revision != tool.Revision || made.Dirty || tool.Dirty {
			why = "; the run was made by " + toolText(made) + ", this is " + toolText(tool) + ": verify with the version that judged it"
		}
		r.add(Verdict, Failed, "recomputed from the evidence it is %s, and differs in %s%s", again.Verdict, differingFields(f.data, data), why)
	}
	return run, opened
}

func toolText(t record.Tool) string {
	text := "tool revision " + t.Revision
	if t.Revision == "" {
		text = "a tool of unknown revision"
	}
	if t.Dirty {
		text += " (changed sources)"
	}
	return text
}

// openRun opens the record as it was judged: a re-judged one with the thresholds in
// its folder.
func openRun(r *Report, f files) (record.Run, bool) {
	of := f.stated.Rejudged
	if of == nil {
		run, err := record.Open(f.run)
		if err != nil {
			r.add(Evidence, Failed, "%v", err)
		}
		return run, err == nil
	}
	run, err := openRejudged(f, of.Thresholds)
	if err != nil {
		r.add(Thresholds, Failed, "%v", err)
		return record.Run{}, false
	}
	r.add(Thresholds, OK, "re-judged with %s", of.Thresholds.Path)
	return run, true
}

// openRejudged opens the run, to be judged by the thresholds beside the certificate.
func openRejudged(f files, thresholds record.Digest) (record.Run, error) {
	data, err := foreign.ReadFile(filepath.Join(f.dir, issue.ThresholdsFile), record.MaxDocument)
	if err != nil {
		return record.Run{}, fmt.Errorf("the certificate's thresholds cannot be read: %w", err)
	}
	if thresholds.SHA256 != spec.DigestOf(data) {
		return record.Run{}, fmt.Errorf("the certificate was judged by a different %s", issue.ThresholdsFile)
	}
	if err := foreign.CheckJSON(data, record.MaxCertificateValues); err != nil {
		return record.Run{}, err
	}
	file, err := spec.Decode(thresholds.Path, data)
	if err != nil {
		return record.Run{}, err
	}
	return rejudge.Open(f.run, file)
}

// differingFields names the fields in which two certificates differ.
func differingFields(a, b []byte) string {
	var of [2]map[string]json.RawMessage
	for i, data := range [][]byte{a, b} {
		if json.Unmarshal(data, &of[i]) != nil {
			return "fields that cannot be read"
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(of[1])) {
		if !bytes.Equal(of[0][name], of[1][name]) {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of[0])) {
		if _, ok := of[1][name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "formatting"
	}
	return strings.Join(names, ", ")
}
