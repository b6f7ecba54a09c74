// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/version"
)

// checkVerdict recomputes the certificate from the evidence. By the build that made it, it must
// be the same, byte for byte; by another one in all decisions and figures.
func checkVerdict(r *Report, f files) (run record.Run, opened bool) {
	run, opened = openRun(r, f)
	if !opened {
		r.add(Verdict, NotChecked, "the evidence cannot be read")
		return run, opened
	}
	again := build.Of(run)
	if f.stated.Signed && f.stated.Issuer != nil {
		again = again.SignedBy(*f.stated.Issuer, f.stated.Evidence.Sealed)
	}
	data, err := certificate.Marshal(again)
	by, this := f.stated.JudgedBy, version.Of()
	switch {
	case err != nil:
		r.add(Verdict, Failed, "%v", err)
	case bytes.Equal(data, f.data):
		r.add(Verdict, OK, "%s, the same when recomputed from the evidence", again.Verdict)
	case by != nil && *by == this:
		r.add(Verdict, Failed, "recomputed from the evidence it is %s, and differs in %s", again.Verdict, differingFields(f.data, data))
	default:
		if places := differingDecisions(f.data, data); len(places) > 0 {
			r.add(Verdict, Failed, "recomputed from the evidence it is %s, and differs in %s; it was judged by %s, this is %s: verify with the build that judged it", again.Verdict, strings.Join(places, ", "), buildText(by), buildText(&this))
			break
		}
		r.add(Verdict, OK, "%s, with the same decisions and figures when recomputed from the evidence; it was judged by %s, this is %s", again.Verdict, buildText(by), buildText(&this))
	}
	return run, opened
}

func buildText(b *certificate.JudgedBy) string {
	if b == nil {
		return "a build before 0.2.0"
	}
	text := "assay " + b.Version
	if b.Revision != "" {
		text += " at " + b.Revision
	}
	return fmt.Sprintf("%s (rulebook %s, %s)", text, b.Rulebook, b.Platform)
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
	if err := foreign.CheckJSON(data, signature.MaxValues); err != nil {
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
	var stated, again map[string]json.RawMessage
	if json.Unmarshal(a, &stated) != nil || json.Unmarshal(b, &again) != nil {
		return "fields that cannot be read"
	}
	all := maps.Clone(stated)
	maps.Copy(all, again)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(stated[name], again[name]) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "formatting")
}
