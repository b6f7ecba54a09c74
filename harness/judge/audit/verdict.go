package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/judge/certificate"
	"assay/harness/judge/issue"
	"assay/harness/judge/rejudge"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// checkVerdict recomputes the certificate from the evidence: it must be the same,
// byte for byte.
func checkVerdict(r *Report, f files, tool record.Tool) (run record.Run, opened bool) {
	if r.state(Evidence) != OK {
		r.add(Verdict, NotChecked, "the evidence is not there, or not what was sealed")
		return run, false
	}
	run, opened = open(r, f)
	if !opened || !f.readable {
		r.add(Verdict, NotChecked, "there is nothing to recompute it from")
		return run, opened
	}
	again := certificate.Of(run)
	again.Signed, again.Issuer = f.certificate.Signed, f.certificate.Issuer
	data, err := certificate.Marshal(again)
	switch {
	case err != nil:
		r.add(Verdict, Failed, "%v", err)
	case bytes.Equal(data, f.data):
		r.add(Verdict, OK, "%s, the same when recomputed from the evidence", again.Verdict)
	default:
		why := ""
		if made := run.Plan.Tool; made.Revision == "" || made.Revision != tool.Revision || made.Dirty || tool.Dirty {
			why = "; the run was made by " + build(made) + ", this is " + build(tool) + ": verify with the one that judged it"
		}
		r.add(Verdict, Failed, "recomputed from the evidence it is %s, and differs in %s%s", again.Verdict, difference(f.data, data), why)
	}
	return run, opened
}

func build(t record.Tool) string {
	text := "tool revision " + t.Revision
	if t.Revision == "" {
		text = "a tool of unknown revision"
	}
	if t.Dirty {
		text += " (changed sources)"
	}
	return text
}

// open reads the record as it was judged: for a re-judged certificate with the
// thresholds file that lies beside it.
func open(r *Report, f files) (record.Run, bool) {
	of := f.certificate.Rejudged
	if of == nil {
		run, err := record.Open(f.run)
		if err != nil {
			r.add(Evidence, Failed, "%v", err)
		}
		return run, err == nil
	}
	data, err := os.ReadFile(filepath.Join(f.dir, issue.ThresholdsFile))
	if err != nil {
		r.add(Thresholds, Failed, "the thresholds of the certificate cannot be read: %v", err)
		return record.Run{}, false
	}
	if sum := sha256.Sum256(data); of.Thresholds.SHA256 != "sha256:"+hex.EncodeToString(sum[:]) {
		r.add(Thresholds, Failed, "%s is not what the certificate was judged by", issue.ThresholdsFile)
		return record.Run{}, false
	}
	file, err := spec.Decode(of.Thresholds.Path, data)
	if err != nil {
		r.add(Thresholds, Failed, "%v", err)
		return record.Run{}, false
	}
	run, err := rejudge.Open(f.run, file)
	if err != nil {
		r.add(Thresholds, Failed, "%v", err)
		return record.Run{}, false
	}
	r.add(Thresholds, OK, "re-judged with %s", of.Thresholds.Path)
	return run, true
}

// difference names the fields in which two certificates differ.
func difference(a, b []byte) string {
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
		return "its formatting"
	}
	return strings.Join(names, ", ")
}
