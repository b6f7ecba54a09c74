package attempts

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

func planOf(run, profile, target string) record.Plan {
	return record.Plan{Run: run, Profile: spec.Profile{Name: profile}, Target: target, Scripts: []record.Digest{{Path: "a.js", SHA256: "sha256:1"}}}
}

func built(revision string) record.Environment {
	if revision == "" {
		return record.Environment{}
	}
	return record.Environment{Service: &record.Service{Builds: []certificate.Build{{Metric: "app_build_info", Labels: map[string]string{"revision": revision}}}}}
}

// total is the number of attempts in all verdicts.
func total(e *record.Earlier) (n int) {
	for _, v := range e.Verdicts {
		n += v.Runs
	}
	return n
}

// Runs are counted by profile, target and revision, however the target is spelled, from when
// their load begins. One without a revision counts with every one.
func TestCounted(t *testing.T) {
	j := Journal{Dir: filepath.Join(t.TempDir(), ".assay")}
	shop := "http://shop.test:8080"
	for i, c := range []struct {
		run, profile, target, revision, verdict string
		want, same                              int
	}{
		{"1", "pay", shop, "a", "FAIL", 1, 0},
		{"2", "pay", "http://SHOP.test.:8080/", "a", "", 2, 1},
		{"3", "pay", shop + "/v1", "a", "PASS", 3, 2},
		{"4", "buy", shop, "a", "PASS", 1, 0},
		{"5", "pay", "http://other.test", "a", "PASS", 1, 0},
		{"6", "pay", "http://other.test:80", "a", "PASS", 2, 1},
		{"7", "pay", shop, "b", "PASS", 1, 0},
		{"8", "pay", shop, "", "INCONCLUSIVE", 5, 4},
		{"9", "pay", shop, "b", "PASS", 3, 2},
		{"10", "pay", "http://127.0.0.1:8080", "", "PASS", 1, 0},
		{"11", "pay", "http://localhost:8080", "", "PASS", 2, 1},
		{"12", "pay", "http://[::1]:8080", "", "PASS", 3, 2},
	} {
		p := planOf(c.run, c.profile, c.target)
		n, e := j.Begin(p, built(c.revision))
		if n != c.want || total(e) != n-1 || e.Same != c.same || e.Unknown != "" {
			t.Errorf("%d: attempt %d, want %d: %+v", i+1, n, c.want, e)
		}
		if again, e := j.Begin(p, built(c.revision)); again != n || total(e) != n-1 {
			t.Errorf("%d: attempt %d when it goes on: %+v", i+1, again, e)
		}
		if c.verdict != "" {
			if err := j.End(p, built(c.revision), c.verdict); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, e := j.Begin(planOf("13", "pay", shop), built("a"))
	want := []record.Verdicts{{Verdict: "FAIL", Runs: 1}, {Verdict: "INCONCLUSIVE", Runs: 1}, {Verdict: "PASS", Runs: 1}, {Runs: 1}}
	if diff := cmp.Diff(want, e.Verdicts); diff != "" {
		t.Error(diff)
	}
	other := planOf("14", "pay", shop)
	other.Scripts[0].SHA256 = "sha256:2"
	if n, e := j.Begin(other, built("a")); n != 6 || e.Same != 0 {
		t.Errorf("another script: attempt %d, %+v", n, e)
	}
}

// Several runs that begin at once are each counted once.
func TestConcurrent(t *testing.T) {
	j := Journal{Dir: t.TempDir()}
	const runs = 20
	seen := make([]int, runs)
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			p := planOf(string(rune('a'+i)), "pay", "http://shop.test")
			seen[i], _ = j.Begin(p, built("a"))
			if err := j.End(p, built("a"), "PASS"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	numbers := map[int]bool{}
	for _, n := range seen {
		numbers[n] = true
	}
	if len(numbers) != runs || numbers[0] {
		t.Errorf("%v", seen)
	}
}

// A journal that is damaged, or torn by a crash, is read as far as it can be, and says so;
// one that cannot be read or written is not known.
func TestDamaged(t *testing.T) {
	j := Journal{Dir: t.TempDir()}
	j.Begin(planOf("1", "pay", "http://shop.test"), built("a"))
	damage := func(text string) {
		t.Helper()
		f, err := os.OpenFile(j.path(), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	damage("\x00\xff{}\n[1]\n" + `{"run":"`)
	n, e := j.Begin(planOf("2", "pay", "http://shop.test"), built("a"))
	if n != 2 || e.Unread != 3 {
		t.Errorf("attempt %d, %+v", n, e)
	}
	if n, e = j.Begin(planOf("3", "pay", "http://shop.test"), built("a")); n != 3 || e.Unread != 3 {
		t.Errorf("after a torn line: attempt %d, %+v", n, e)
	}

	unknown := func(what string, j Journal) {
		t.Helper()
		if n, e := j.Begin(planOf("4", "pay", "http://shop.test"), built("a")); n != 0 || e.Unknown == "" {
			t.Errorf("%s: attempt %d, %+v", what, n, e)
		}
		if text, err := j.Hand("5", spec.Profile{Name: "pay"}, "http://shop.test"); err != nil || !strings.Contains(text, "unknown") {
			t.Errorf("%s: handed %s, %v", what, text, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unknown("no folder", Journal{Dir: filepath.Join(file, ".assay")})
	linked := Journal{Dir: t.TempDir()}
	if err := os.Symlink(file, linked.path()); err != nil {
		t.Fatal(err)
	}
	unknown("a link", linked)
	folder := Journal{Dir: t.TempDir()}
	if err := os.Mkdir(folder.path(), 0o700); err != nil {
		t.Fatal(err)
	}
	unknown("a folder", folder)
}

// Attempts are forgotten when a certificate of theirs would have expired, and a long journal
// is made shorter, without what cannot be read.
func TestBounded(t *testing.T) {
	j := Journal{Dir: t.TempDir()}
	old := entryOf(planOf("1", "pay", "http://shop.test"), built("a"))
	old.At = now().Add(-remembered - time.Hour)
	if err := j.write(old, false); err != nil {
		t.Fatal(err)
	}
	if n, _ := j.Begin(planOf("2", "pay", "http://shop.test"), built("a")); n != 1 {
		t.Errorf("attempt %d, the first in 90 days", n)
	}
	j.keep = 10
	f, err := os.OpenFile(j.path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.WriteString("damaged\n"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	longest := 0
	for i := range 35 {
		n, e := j.Begin(planOf("more"+time.Duration(i).String(), "pay", "http://shop.test"), built("a"))
		longest = max(longest, n)
		if e.Unread != 1 || n < 2 {
			t.Fatalf("attempt %d, %+v", n, e)
		}
	}
	all, unread, _, err := j.read()
	if err != nil || len(all) > 2*j.keep || len(unread) != 1 || all[len(all)-1].Run != "more34ns" || longest < j.keep {
		t.Errorf("%d entries and %d that cannot be read, %v", len(all), unread, err)
	}
}

// Runs of the folder of runs count where the journal does not have them, with the verdict of
// their certificate, sealed or not.
func TestRemovedJournal(t *testing.T) {
	runs := t.TempDir()
	j := Journal{Dir: filepath.Join(t.TempDir(), ".assay"), Runs: runs}
	for run, verdict := range map[string]string{"1": "FAIL", "2": "", "3": "INVALID", "4": "lies", "5": "PASS"} {
		c := synthetic.New(synthetic.Profile(), 1, func(int64) (float64, string) { return 1, metric.Completed })
		p := c.Run.Plan
		p.Run = run
		if run == "5" {
			p.Scope = spec.ScopeTrial
		}
		dir := filepath.Join(runs, run)
		w, err := record.Create(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if verdict != "" {
			if err := os.WriteFile(filepath.Join(dir, "certificate.json"), []byte(`{"verdict": "`+verdict+`"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := synthetic.New(synthetic.Profile(), 1, func(int64) (float64, string) { return 1, metric.Completed }).Run.Plan
	p.Run = "6"
	for range 2 { // with and without the journal
		n, e := j.Begin(p, built("a"))
		want := []record.Verdicts{{Verdict: "FAIL", Runs: 1}, {Verdict: "INVALID", Runs: 1}, {Runs: 2}}
		if diff := cmp.Diff(want, e.Verdicts); n != 5 || e.Same != 4 || diff != "" {
			t.Errorf("attempt %d, %+v: %s", n, e, diff)
		}
		if err := os.RemoveAll(j.Dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A coordinator elsewhere counts its run by what it is told; without that it does not know.
func TestHanded(t *testing.T) {
	j := Journal{Dir: t.TempDir()}
	for i, revision := range []string{"a", "a", "b", ""} {
		p := planOf(string(rune('1'+i)), "pay", "http://shop.test")
		j.Begin(p, built(revision))
		if err := j.End(p, built(revision), "FAIL"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := j.Hand("5", spec.Profile{Name: "pay"}, "http://shop.test/")
	if err != nil {
		t.Fatal(err)
	}
	own := planOf("5", "pay", "http://shop.test")
	count, err := Handed(text)
	if err != nil {
		t.Fatal(err)
	}
	if n, e := count(own, built("a")); n != 4 || e.Same != 3 {
		t.Errorf("attempt %d, %+v", n, e)
	}
	if err := j.End(own, built("a"), "PASS"); err != nil {
		t.Fatal(err)
	}
	if n, e := j.Begin(planOf("6", "pay", "http://shop.test"), built("a")); n != 5 || e.Same != 4 {
		t.Errorf("the next: attempt %d, %+v", n, e)
	}
	if count, err = Handed(""); err != nil {
		t.Fatal(err)
	}
	if n, e := count(own, built("a")); n != 0 || e.Unknown == "" {
		t.Errorf("not told: attempt %d, %+v", n, e)
	}
	if _, err := Handed("{"); err == nil {
		t.Error("no error")
	}
	for i := range 300 { // of many revisions, what is handed over stays short
		p := planOf("many"+time.Duration(i).String(), "pay", "http://shop.test")
		j.Begin(p, built(time.Duration(i).String()))
	}
	if text, err = j.Hand("7", spec.Profile{Name: "pay"}, "http://shop.test"); err != nil || len(text) > 10_000 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if count, err = Handed(text); err != nil {
		t.Fatal(err)
	}
	if n, _ := count(own, built("a")); n < 7 || n > 306 {
		t.Errorf("attempt %d", n)
	}
}
