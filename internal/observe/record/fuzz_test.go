package record

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/ledger"
)

// fuzzDocument: whatever the document says, it is refused or as bounded as a run's. D is what
// it is decoded into.
func fuzzDocument[D any](f *testing.F, seeds []D, check func(D) error) {
	for _, d := range seeds {
		data, err := json.Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"schema": "assay/plan/v1", "load": {"judged": [{"end_ns": 1000000000000000000}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d D
		if foreign.DecodeJSON(data, MaxValues, &d) == nil {
			_ = check(d)
		}
	})
}

// exams are the documents of recorded runs.
func exams[D any](f *testing.F, name string) (all []D) {
	paths, err := filepath.Glob("../../../lab/exam/testdata/records/m*/[np]*/evidence/" + name)
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		var d D
		if err := errors.Join(err, json.Unmarshal(data, &d)); err != nil {
			f.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

func FuzzPlan(f *testing.F) {
	fuzzDocument(f, append(exams[Plan](f, planFile), aPlan()), func(p Plan) error {
		if err := p.check(); err != nil {
			return err
		}
		if p.Load.Duration() > 25*time.Hour || p.Load.Duration() <= 0 || len(p.Load.Judged) == 0 {
			f.Fatalf("%v, judged %v", p.Load.Duration(), p.Load.Judged)
		}
		for look := range len(p.Load.Looks) + 2 {
			r := Run{Plan: p, Facts: someFacts(StateAbsent)}
			r.Plan.Load = p.Load.At(look)
			r.Timeline = r.EmptyTimeline()
			r.PerFlow()
		}
		return nil
	})
}

func FuzzFacts(f *testing.F) {
	p := aPlan()
	fuzzDocument(f, append(exams[Facts](f, factsFile), someFacts(StateOK)), func(facts Facts) error {
		if err := facts.check(p); err != nil {
			return err
		}
		if s := (Run{Plan: p, Facts: facts}).seconds(); s.Seconds() <= 0 || s.Seconds() > 40*24*60*60 {
			f.Fatalf("%+v", s)
		}
		return nil
	})
}

func FuzzEnvironment(f *testing.F) {
	fuzzDocument(f, append(exams[Environment](f, environmentFile), anEnvironment()), Environment.check)
}

// FuzzManifest: a manifest never has anything read but the files of the evidence folder.
func FuzzManifest(f *testing.F) {
	dir := f.TempDir()
	evidence := filepath.Join(dir, EvidenceDir)
	if err := errors.Join(os.Mkdir(evidence, 0o755), os.WriteFile(filepath.Join(evidence, "a"), []byte("a"), 0o644)); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"schema": "assay/manifest/v1", "run": "r", "files": [{"path": "a", "size": 1, "sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}]}`))
	f.Add([]byte(`{"schema": "assay/manifest/v1", "files": [{"path": "../../a", "size": 1}, {"path": "a"}, {"path": "a", "size": -1}]}`))
	f.Fuzz(func(t *testing.T, manifest []byte) {
		sealed, all, err := Differences(dir, manifest)
		if err == nil && len(all) == 0 && (len(sealed.Files) != 1 || sealed.Files[0].Path != "a" || sealed.Files[0].Size != 1) {
			t.Fatalf("%+v is said to be what is there", sealed)
		}
	})
}

// FuzzCompressed: whatever a compressed file holds, reading it ends, and gives no more than a
// hundred times its size.
func FuzzCompressed(f *testing.F) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(zip.EncodeAll([]byte("0123456789abcdef0123456789abcdef 1795219940000\n"), nil))
	f.Add(zip.EncodeAll(make([]byte, 2<<20), nil))
	for _, name := range []string{framesFile, filepath.Join(ledgerDir, "acknowledged-worker-0.zst")} {
		data, err := os.ReadFile(filepath.Join("../../../lab/exam/testdata/records/mysql/missing-index/evidence", name))
		if err == nil {
			f.Add(data[:min(len(data), 20_000)])
		}
	}
	dir := f.TempDir()
	evidence := filepath.Join(dir, EvidenceDir)
	if err := os.MkdirAll(filepath.Join(evidence, ledgerDir), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{framesFile, filepath.Join(ledgerDir, "acknowledged-x.zst")} {
			if err := os.WriteFile(filepath.Join(evidence, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r := Run{Plan: aPlan(), Facts: someFacts(StateOK)}
		_, _, _ = r.readTimeline(dir, NewChecker(r.Plan))
		entries := 0
		_ = eachEntry(dir, func(ledger.Side, ledger.Entry) error { entries++; return nil })
		if entries > (expandBytes+expandRatio*len(data))/32 {
			t.Fatalf("%d entries in %d bytes", entries, len(data))
		}
	})
}
