// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
)

// checkSeal says whether the key that signs the certificate has sealed the record, when the
// run ended: else anybody may have made what the certificate was issued for.
func checkSeal(r *Report, f files, o Options) {
	stated := f.stated
	data, err := foreign.ReadFile(filepath.Join(f.run, record.SealFile), issue.MaxFile)
	if err == nil && o.Key != nil {
		err = signature.VerifySeal(data, *o.Key, stated.Run, stated.Evidence.ManifestSHA256)
	}
	switch {
	case !stated.Signed:
		r.add(Seal, NotChecked, "only a signed certificate states who has sealed its record")
	case !stated.Evidence.Sealed && o.AllowUnsealed:
		r.add(Seal, Allowed, "this key has not sealed the record when the run ended")
	case !stated.Evidence.Sealed:
		r.add(Seal, Failed, "this key has not sealed the record when the run ended: its owner does not vouch for what it holds")
	case errors.Is(err, fs.ErrNotExist):
		r.add(Seal, Failed, "the certificate states that the record is sealed, but there is no %s", record.SealFile)
	case err != nil:
		r.add(Seal, Failed, "%s: %v", record.SealFile, err)
	case o.Key == nil:
		r.add(Seal, NotChecked, "pass the issuer's public key with --key")
	default:
		r.add(Seal, OK, "the key has sealed the record when the run ended")
	}
}

// checkRejudged refuses other thresholds than those that the run was made for.
func checkRejudged(r *Report, f files, o Options) {
	if of := f.stated.Rejudged; of != nil {
		state, text := Failed, "judged by other thresholds than those of the run: %s"
		if o.AllowRejudged {
			state = Allowed
		}
		r.add(Rejudged, state, text, of.Thresholds.Path)
	}
}

// maxListed is how many files that nothing covers are looked for in a folder, and
// maxNamed how many a page names.
const (
	maxListed = 1000
	maxNamed  = 10
)

// checkFiles compares the files that show the certificate with those that were signed, and
// names what else is in its folder.
func checkFiles(r *Report, f files) {
	if f.bundle == nil {
		r.add(Files, NotChecked, "no signature covers the pages beside the certificate: assay judge makes them again")
		return
	}
	var same []string
	for _, file := range f.bundle.Statement.Files {
		data, err := foreign.ReadFile(filepath.Join(f.dir, filepath.FromSlash(file.Name)), issue.MaxFile)
		switch {
		case errors.Is(err, fs.ErrNotExist): // what is not there deceives nobody
		case err != nil:
			r.add(Files, Failed, "%v", err)
		case !f.bundle.Statement.Covers(file.Name, data):
			r.add(Files, Failed, "%s is not what was signed", file.Name)
		default:
			same = append(same, file.Name)
		}
	}
	if r.state(Files) != Failed {
		r.add(Files, OK, "%d beside the certificate, as they were signed: %s", len(same), cmp.Or(strings.Join(same, ", "), "none"))
	}
	r.NotCovered = append(r.NotCovered, f.notCovered(".")...)
}

// notCovered lists what is below a folder of the certificate's and no signature covers. A
// folder without a file that is covered ends in a slash, for all that is in it.
func (f files) notCovered(dir string) (all []string) {
	covered := []string{filepath.Base(f.path), issue.BundleFile}
	if f.dir == f.run {
		covered = append(covered, record.SealFile, record.EvidenceDir) // evidence has a check of its own
	}
	for _, file := range f.bundle.Statement.Files {
		covered = append(covered, file.Name)
	}
	folder, err := os.Open(filepath.Join(f.dir, filepath.FromSlash(dir)))
	if err != nil {
		return []string{dir + "/"}
	}
	defer folder.Close() //nolint:errcheck // it is only read
	entries, err := folder.ReadDir(maxListed)
	if err != nil && !errors.Is(err, io.EOF) || len(entries) == maxListed {
		all = append(all, path.Join(dir, "..."))
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		within := func(c string) bool { return strings.HasPrefix(c, name+"/") }
		switch {
		case slices.Contains(covered, name):
		case e.IsDir() && slices.ContainsFunc(covered, within):
			all = append(all, f.notCovered(name)...)
		case e.IsDir():
			all = append(all, name+"/")
		default:
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
