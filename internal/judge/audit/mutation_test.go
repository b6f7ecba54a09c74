package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/certificate/report"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// original is a record that is mutated: its files by path, and what it was judged.
type original struct {
	name  string
	files map[string][]byte
	cert  certificate.Certificate
}

// originals are real records of the exam, and simulated ones that have a ledger too, each
// with its certificate.
func originals(t *testing.T) (all []original) {
	t.Helper()
	add := func(name, dir string) {
		r, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		o := original{name, map[string][]byte{}, build.Of(r)}
		for _, path := range filesBelow(t, filepath.Join(dir, record.EvidenceDir)) {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			o.files[rel] = readFile(t, path)
		}
		if o.files["certificate.json"], err = certificate.Marshal(o.cert); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	for _, name := range []string{"nothing", "hot-row", "generator"} {
		add(name, filepath.Join("../../../lab/exam/testdata/records/mysql", name))
	}
	lost := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	lost.Run.Ledger.Acknowledged -= 5
	slow := synthetic.New(synthetic.Profile(), 1, func(n int64) (float64, string) {
		ms, outcome := synthetic.Healthy(n)
		return ms * 3, outcome
	})
	for name, c := range map[string]*synthetic.Case{"ledger": lost, "slow": slow} {
		dir := filepath.Join(t.TempDir(), name)
		if err := c.Seal(dir); err != nil {
			t.Fatal(err)
		}
		add(name, dir)
	}
	slices.SortFunc(all, func(a, b original) int { return cmp.Compare(a.name, b.name) })
	return all
}

// mutation changes one thing of a record. What it did is said for a failure.
type mutation struct {
	r      *rand.Rand
	dir    string // folder of the run
	files  map[string][]byte
	said   []string
	strict bool // the manifest is left as it was sealed, though evidence has changed
}

func (m *mutation) say(format string, args ...any) {
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// mutate writes a mutated copy of a record to a folder.
func mutate(t *testing.T, o original, seed uint64, dir string) *mutation {
	m := &mutation{r: rand.New(rand.NewPCG(seed, 30)), dir: dir, files: maps.Clone(o.files)}
	paths := slices.Sorted(maps.Keys(m.files))
	evidence := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == "certificate.json" || filepath.Base(p) == "manifest.json" })
	for range 1 + m.r.IntN(2) {
		switch kind := m.r.IntN(20); {
		case kind < 10: // documents
			documents := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return filepath.Ext(p) != ".json" })
			path := pick(m.r, documents)
			m.files[path] = m.document(path, m.files[path])
		case kind < 15:
			m.compressed(filepath.Join(record.EvidenceDir, "frames.otlp.pb.zst"), m.frames)
		case kind < 16:
			if all := slices.DeleteFunc(slices.Clone(evidence), func(p string) bool { return !strings.Contains(p, "/ledger/") }); len(all) > 0 {
				m.compressed(pick(m.r, all), m.lines)
			}
		case kind < 18:
			path := pick(m.r, paths)
			m.files[path] = m.raw(path, m.files[path])
		}
	}
	if m.strict = m.r.IntN(8) == 0; !m.strict {
		m.seal()
	}
	for path, data := range m.files {
		at := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if m.r.IntN(4) == 0 {
		m.kind(t, pick(m.r, append(paths, record.EvidenceDir, filepath.Join(record.EvidenceDir, "ledger"), filepath.Join(record.EvidenceDir, "added"))))
	}
	return m
}

// seal makes the manifest again, so that what was mutated is read, and has the certificate
// name it.
func (m *mutation) seal() {
	path := filepath.Join(record.EvidenceDir, "manifest.json")
	var sealed record.Manifest
	if json.Unmarshal(m.files[path], &sealed) != nil {
		return
	}
	before := sha256.Sum256(m.files[path])
	sealed.Files = nil
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if rel, ok := strings.CutPrefix(name, record.EvidenceDir+"/"); ok && name != path {
			sum := sha256.Sum256(m.files[name])
			sealed.Files = append(sealed.Files, record.ManifestFile{Path: rel, Size: int64(len(m.files[name])), SHA256: hex.EncodeToString(sum[:])})
		}
	}
	m.files[path], _ = json.Marshal(sealed)
	after := sha256.Sum256(m.files[path])
	m.files["certificate.json"] = bytes.ReplaceAll(m.files["certificate.json"], []byte(hex.EncodeToString(before[:])), []byte(hex.EncodeToString(after[:])))
}

// numbers and texts that documents do not expect.
var (
	numbers = []json.Number{
		"0", "-1", "1", "0.5", "1e18", "-1e18", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e308", "-1e308", "5e-324",
		"1000000000", "60000000000", "86400000000000", "123456789.5", "2147483648", "1e999",
	}
	texts = []string{"", "\x00", "../../../etc/passwd", "worker/0", "database", "1/0", "0:0", "NaN", "2026-11-24T20:08:30Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "ok", "absent", "percentile", "%s%n", "\u202e\x1b[31m", "<script>"}
)

// document mutates one value of a JSON document, or its text.
func (m *mutation) document(path string, data []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil || m.r.IntN(10) == 0 {
		return m.raw(path, data)
	}
	var places []func(change func(any) any)
	var names []string
	var walk func(v any, name string, set func(any))
	walk = func(v any, name string, set func(any)) {
		places, names = append(places, func(change func(any) any) { set(change(v)) }), append(names, name)
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k], name+"."+k, func(to any) {
					if to == gone {
						delete(v, k)
						return
					}
					v[k] = to
				})
			}
		case []any:
			for i := range v {
				walk(v[i], fmt.Sprintf("%s[%d]", name, i), func(to any) { v[i] = to })
			}
		}
	}
	walk(root, "", func(to any) { root = to })
	i := m.r.IntN(len(places))
	places[i](func(v any) any {
		to := m.value(v)
		m.say("%s%s: %.60s to %.60s", filepath.Base(path), names[i], fmt.Sprint(v), fmt.Sprint(to))
		return to
	})
	out, err := json.Marshal(root)
	if err != nil { // a number that is none
		return data
	}
	return out
}

// gone removes a key.
var gone any = struct{ gone bool }{true}

func (m *mutation) value(v any) any {
	if m.r.IntN(12) == 0 {
		return gone
	}
	if m.r.IntN(6) == 0 {
		return pick(m.r, []any{nil, true, []any{}, map[string]any{}, pick(m.r, numbers), pick(m.r, texts), v, strings.Repeat("x", 1<<16), slices.Repeat([]any{v}, 2000)})
	}
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		near := []float64{f * 2, f / 2, f + 1, f - 1, -f, f * 1000, f + 1e9}
		if m.r.IntN(2) == 0 {
			return json.Number(strconv.FormatFloat(pick(m.r, near), 'f', -1, 64))
		}
		return pick(m.r, numbers)
	case string:
		return pick(m.r, texts)
	case []any:
		switch {
		case len(v) == 0:
			return []any{nil}
		case m.r.IntN(3) == 0:
			return slices.Delete(slices.Clone(v), 0, 1)
		case m.r.IntN(2) == 0:
			return append(slices.Clone(v), pick(m.r, v))
		}
		w := slices.Clone(v)
		slices.Reverse(w)
		return w
	case map[string]any:
		w := maps.Clone(v)
		w[pick(m.r, []string{"added", "Load", "schema", "end_ns"})] = pick(m.r, numbers)
		return w
	}
	return pick(m.r, numbers)
}

// raw mutates the bytes of a file.
func (m *mutation) raw(path string, data []byte) []byte {
	out := bytes.Clone(data)
	at := m.r.IntN(len(out) + 1)
	what := m.r.IntN(6)
	m.say("%s: bytes at %d, %d", path, at, what)
	switch what {
	case 0:
		return out[:at]
	case 1:
		return append(out[:at:at], out[min(len(out), at+1+m.r.IntN(100)):]...)
	case 2:
		return append(out, out...)
	case 3:
		return slices.Insert(out, at, bytes.Repeat([]byte{byte(m.r.Uint32())}, 1+m.r.IntN(1000))...)
	case 4:
		return nil
	}
	for range 1 + m.r.IntN(8) {
		if len(out) > 0 {
			out[m.r.IntN(len(out))] ^= byte(1 + m.r.IntN(255))
		}
	}
	return out
}

var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
)

// compressed mutates what a file holds.
func (m *mutation) compressed(path string, change func([]byte) []byte) {
	content, err := unpacker.DecodeAll(m.files[path], nil)
	if err != nil { // it was mutated before
		return
	}
	m.files[path] = packer.EncodeAll(change(content), nil)
}

// lines mutates the text of a ledger.
func (m *mutation) lines(text []byte) []byte {
	all := bytes.SplitAfter(text, []byte{'\n'})
	i := m.r.IntN(len(all))
	what := m.r.IntN(7)
	m.say("line %d of the ledger, %d", i, what)
	switch what {
	case 0:
		all = slices.Delete(all, i, i+1)
	case 1:
		all = slices.Insert(all, i, all[m.r.IntN(len(all))])
	case 2:
		all[i] = m.raw("line", all[i])
	case 3:
		all[i] = []byte("0123456789abcdef0123456789abcdef " + string(pick(m.r, numbers)) + "\n")
	case 4:
		all = slices.Insert(all, i, bytes.Repeat([]byte("0123456789abcdef0123456789abcdef 1795176000000\n"), 200_000))
	case 5:
		var many []byte
		for n := range 200_000 {
			many = fmt.Appendf(many, "%032x %d\n", n, int64(n)*1e9)
		}
		all = slices.Insert(all, i, many)
	default:
		return m.raw("ledger", text)
	}
	return bytes.Join(all, nil)
}

// frames mutates frames and their points.
func (m *mutation) frames(stream []byte) []byte {
	var all []metric.Frame
	for b := stream; len(b) > 0; {
		size, n := binary.Uvarint(b)
		if n <= 0 || uint64(len(b)-n) < size {
			return m.raw("frames", stream)
		}
		frames, err := metric.Decode(b[n : n+int(size)])
		if err != nil {
			return m.raw("frames", stream)
		}
		all, b = append(all, frames...), b[n+int(size):]
	}
	if m.r.IntN(8) == 0 || len(all) == 0 {
		return m.raw("frames", stream)
	}
	i := m.r.IntN(len(all))
	f := &all[i]
	seconds := []int64{0, -1, f.Second + 1, f.Second - 1, f.Second + 86_399, f.Second - 1e6, 1e18, math.MaxInt64, math.MinInt64}
	what := m.r.IntN(14)
	m.say("frame %d, sequence %d of %s, %d", i, f.Sequence, f.Source, what)
	switch what {
	case 0:
		all = slices.Delete(all, i, i+1)
	case 1:
		all = append(all, f.Clone())
	case 2:
		slices.Reverse(all)
	case 3:
		f.Source = pick(m.r, []string{"", "worker/1", "worker/999999", "database", "host", "service", "otlp/x", "lag"})
	case 4:
		f.Sequence = pick(m.r, []uint64{0, 1, math.MaxUint64, f.Sequence + 1, 1 << 40})
	case 5:
		f.Second = pick(m.r, seconds)
	case 6:
		f.Length = pick(m.r, seconds)
		f.Source = pick(m.r, []string{f.Source, "otlp/x"})
	case 7:
		f.Closing = !f.Closing
	case 8: // many copies, as a series, a source or a second each
		for n := range 2000 {
			c := f.Clone()
			switch c.Sequence = uint64(3*n + 2); m.r.IntN(3) {
			case 0:
				c.Source = fmt.Sprint("worker/", n)
			case 1:
				c.Second = f.Second - int64(n)*40
			}
			c.Points = c.Points[:min(len(c.Points), 3)]
			all = append(all, c)
		}
	default:
		if len(f.Points) == 0 {
			break
		}
		m.point(f)
	}
	var out []byte
	for _, f := range all {
		one, err := metric.Encode(f)
		if err != nil {
			return m.raw("frames", stream)
		}
		out = append(binary.AppendUvarint(out, uint64(len(one))), one...)
	}
	return out
}

// point mutates a point of a frame.
func (m *mutation) point(f *metric.Frame) {
	i := m.r.IntN(len(f.Points))
	p := &f.Points[i]
	what := m.r.IntN(7)
	m.say("point %s %s, %d", p.Series.Key(), p.Kind, what)
	switch what {
	case 0:
		f.Points = slices.Delete(f.Points, i, i+1)
	case 1:
		f.Points = append(f.Points, *p)
	case 2:
		p.Series = metric.NewSeries(pick(m.r, f.Points).Series.Name, "", "scenario", "x", "name", strings.Repeat("y", m.r.IntN(5000)))
	case 3:
		p.Series.Unit = pick(m.r, []string{"", "s", "By"})
	case 4:
		for n := range 5000 {
			c := *p
			c.Series = metric.NewSeries(p.Series.Name, p.Series.Unit, "name", fmt.Sprint(n))
			f.Points = append(f.Points, c)
		}
	default:
		value := pick(m.r, []float64{0, -1, p.Value + 1, -p.Value, p.Value * 1000, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324})
		if p.Kind != metric.Histogram {
			p.Value = value
			return
		}
		h := &metric.Hist{}
		h.Merge(p.Hist)
		h.Record(value, pick(m.r, []uint64{1, 1000, 1 << 62}))
		p.Hist = h
	}
}

// kind replaces a file, or a folder, by something else.
func (m *mutation) kind(t *testing.T, path string) {
	at := filepath.Join(m.dir, path)
	kinds := map[string]func() error{
		"pipe": func() error { return syscall.Mkfifo(at, 0o644) },
		"socket": func() error {
			l, err := net.Listen("unix", at)
			if err != nil { // its path is too long
				return os.Mkdir(at, 0o755)
			}
			t.Cleanup(func() { _ = l.Close() })
			return nil
		},
		"endless link":         func() error { return os.Symlink("/dev/zero", at) },
		"link to nothing":      func() error { return os.Symlink("nothing", at) },
		"link to itself":       func() error { return os.Symlink(filepath.Base(at), at) },
		"link to the original": func() error { return os.Symlink(at+".moved", at) },
		"folder":               func() error { return os.Mkdir(at, 0o755) },
		"sparse":               func() error { return errors.Join(os.WriteFile(at, nil, 0o644), os.Truncate(at, 8<<30)) },
		"empty":                func() error { return os.WriteFile(at, nil, 0o644) },
		"nothing":              func() error { return nil },
		"unreadable":           func() error { return os.WriteFile(at, nil, 0) },
		"device": func() error {
			if syscall.Mknod(at, syscall.S_IFCHR|0o666, 1<<8|5) != nil { // not root
				return os.Symlink("/dev/full", at)
			}
			return nil
		},
	}
	name := pick(m.r, slices.Sorted(maps.Keys(kinds)))
	m.say("%s: %s", path, name)
	err := os.Rename(at, at+".moved")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err := cmp.Or(err, kinds[name]()); err != nil {
		t.Fatal(err)
	}
	sealed := filepath.Join(record.EvidenceDir, "manifest.json")
	if m.files[path] != nil && path != sealed && name == "sparse" && !m.strict { // sealed with its size
		data := bytes.Replace(m.files[sealed], fmt.Appendf(nil, `"size":%d,`, len(m.files[path])), []byte(`"size":8589934592,`), 1)
		if err := os.WriteFile(filepath.Join(m.dir, sealed), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read does with a folder what the commands do that read one: the certificate that judging
// it gives, if it can be judged.
func read(dir string) (c certificate.Certificate, ok bool, err error) {
	if _, err := Verify(dir, options(nil)); errors.Is(err, foreign.ErrUnreadable) {
		return c, false, err
	}
	if err := record.WriteLines(io.Discard, dir); errors.Is(err, foreign.ErrUnreadable) {
		return c, false, err
	}
	r, err := record.Open(dir)
	if err != nil {
		return c, false, err
	}
	c = build.Certificate(r, verdict.Judge(r))
	if _, err := certificate.Marshal(c); err != nil {
		return c, false, err
	}
	if _, err := page.HTML(report.Full(c, report.NewTimeline(r), "")); err != nil {
		return c, false, err
	}
	page.Terminal(report.Diagnosis(c), page.Columns, false)
	page.Markdown(report.Report(c, ""))
	if _, err := page.JUnit(report.Checks(c)); err != nil {
		return c, false, err
	}
	stricter := spec.File{Path: "thresholds.json", Profiles: map[string]spec.Profile{r.Plan.Profile.Name: r.Plan.Profile}}
	if again, err := rejudge.Open(dir, stricter); err == nil {
		verdict.Judge(again)
	}
	return c, true, nil
}

// claims is what a certificate claims: its rate, and the bound of each SLO.
func claims(c certificate.Certificate) (rate float64, bounds map[string]float64) {
	bounds = map[string]float64{}
	for _, s := range c.SLOs {
		bounds[s.Flow+" "+s.Metric+" "+s.Expression] = s.Limit
	}
	return c.Rate.Target, bounds
}

// peak is the most memory that this process has had, in bytes.
func peak(t *testing.T) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// mutations reads mutations of records, with these seeds: without a panic, in 1 GiB and 10 s
// of CPU time each. None passes for the same claim if the original does not.
func mutations(t *testing.T, from, to uint64) {
	all := originals(t)
	judged := map[string]int{}
	for seed := from; seed < to; seed++ {
		o := all[seed%uint64(len(all))]
		dir := filepath.Join(t.TempDir(), "r")
		m := mutate(t, o, seed, dir)
		before, cpu := peak(t), cpuTime(t)
		type result struct {
			c   certificate.Certificate
			ok  bool
			err error
		}
		done := make(chan result, 1)
		go func() {
			defer func() {
				if left := recover(); left != nil {
					t.Errorf("seed %d, %s: %v: panic: %v", seed, o.name, m.said, left)
					done <- result{}
				}
			}()
			c, ok, err := read(dir)
			done <- result{c, ok, err}
		}()
		var got result
		select {
		case got = <-done:
		case <-time.After(2 * time.Minute):
			t.Fatalf("seed %d, %s: %v: it hangs", seed, o.name, m.said)
		}
		if errors.Is(got.err, foreign.ErrUnreadable) {
			t.Errorf("seed %d, %s: %v: %v", seed, o.name, m.said, got.err)
		}
		if took := cpuTime(t) - cpu; took > 10*time.Second {
			t.Errorf("seed %d, %s: %v: it takes %v", seed, o.name, m.said, took)
		}
		if now := peak(t); now > 1<<30 && now > before {
			t.Errorf("seed %d, %s: %v: %d MiB of memory, %d before", seed, o.name, m.said, now>>20, before>>20)
		}
		verdictOf := "refused"
		if got.ok {
			verdictOf = got.c.Verdict
			if asSealed := o.files["evidence/manifest.json"]; bytes.Equal(m.files["evidence/manifest.json"], asSealed) && !bytes.Equal(mustMarshal(t, got.c), o.files["certificate.json"]) {
				t.Errorf("seed %d, %s: %v: with the manifest as it was sealed it is another run", seed, o.name, m.said)
			}
		}
		judged[o.cert.Verdict+" to "+verdictOf]++
		if got.ok && got.c.Verdict == "PASS" {
			rate, bounds := claims(got.c)
			wasRate, was := claims(o.cert)
			same := maps.Equal(bounds, was)
			switch {
			case o.cert.Verdict != "PASS" && same && rate >= wasRate:
				t.Errorf("seed %d, %s: %v: it was %s: %s", seed, o.name, m.said, o.cert.Verdict, o.cert.Claim)
			case !same || rate != wasRate:
				t.Logf("seed %d, %s: %v: it passes with another claim: %s", seed, o.name, m.said, got.c.Claim)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%v, peak %d MiB", judged, peak(t)>>20)
}

func mustMarshal(t *testing.T, c certificate.Certificate) []byte {
	t.Helper()
	data, err := certificate.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever is changed in a record, it is judged as before, or refused, or judged as what it
// has become; TestLongMutations makes 10,000 mutations.
func TestMutations(t *testing.T) { mutations(t, 0, 120) }
