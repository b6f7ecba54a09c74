package incluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

// write writes files, by their paths below dir.
func write(t interface{ Fatal(...any) }, dir string, files map[string][]byte) {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads the files below dir.
func read(t interface{ Fatal(...any) }, dir string) map[string][]byte {
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What was packed is found again, at the same paths seen from the folder of the first
// file; and an archive that is cut off anywhere is an error.
func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		base, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		path := rapid.StringMatching(`([a-c]/){0,3}[d-h](\.js| 1|é)?`)
		files := rapid.MapOfN(path, rapid.SliceOfN(rapid.Byte(), 0, 100), 1, 6).Draw(r, "files")
		project := filepath.Join(base, "project")
		write(r, project, files)
		var paths []string
		for name := range files {
			paths = append(paths, filepath.Join(project, name))
		}
		slices.Sort(paths)
		if rapid.Bool().Draw(r, "twice") {
			paths = append(paths, filepath.Join(filepath.Dir(paths[0]), ".", filepath.Base(paths[0])))
		}
		archive, folder, err := Pack(paths...)
		if err != nil {
			r.Fatal(err)
		}
		again, _, err := Pack(paths...)
		if err != nil || !bytes.Equal(archive, again) {
			r.Fatalf("packed again it differs: %v", err)
		}
		out := filepath.Join(base, "out")
		if err := os.Mkdir(out, 0o755); err != nil {
			r.Fatal(err)
		}
		if err := unpack(bytes.NewReader(archive), out, expandBytes); err != nil {
			r.Fatal(err)
		}
		if got := read(r, out); len(got) != len(files) {
			r.Fatalf("%d files, want %d", len(got), len(files))
		}
		for name, content := range files {
			seen, err := filepath.Rel(filepath.Dir(paths[0]), filepath.Join(project, name))
			if err != nil {
				r.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(out, folder, seen))
			if err != nil || !bytes.Equal(got, content) {
				r.Fatalf("%s, seen as %s from %s: %v", name, seen, folder, err)
			}
		}
		cut := rapid.IntRange(0, len(archive)-1).Draw(r, "cut")
		short, err := os.MkdirTemp(base, "short")
		if err != nil {
			r.Fatal(err)
		}
		if err := unpack(bytes.NewReader(archive[:cut]), short, expandBytes); err == nil {
			r.Fatalf("the first %d of %d bytes were unpacked", cut, len(archive))
		}
	})
}

// A record comes back as it is.
func TestPackFolder(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	files := map[string][]byte{"plan.json": []byte("{}"), "evidence/workers/0.log": []byte("x\n"), "empty": {}, "large": bytes.Repeat([]byte("0123456789"), 1<<13)}
	write(t, dir, files)
	var archive bytes.Buffer
	if err := packFolder(&archive, dir); err != nil {
		t.Fatal(err)
	}
	if err := unpack(&archive, out, expandBytes); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, read(t, out)); diff != "" {
		t.Errorf("(-packed +unpacked):\n%s", diff)
	}
	if err := packFolder(io.Discard, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestPackRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noise := make([]byte, maxProject+1)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	write(t, dir, map[string][]byte{"thresholds.json": nil, "noise": noise, "zeros": make([]byte, 10*maxProject)})
	if _, _, err := Pack(filepath.Join(dir, "thresholds.json"), filepath.Join(dir, "noise")); err == nil || !strings.Contains(err.Error(), "more than the 700 KiB that a Secret holds") || hint.Of(err) == "" {
		t.Errorf("over the limit: %v", err)
	}
	if _, _, err := Pack(filepath.Join(dir, "thresholds.json"), filepath.Join(dir, "zeros")); err != nil {
		t.Errorf("small when compressed: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Pack(pipe); !errors.Is(err, foreign.ErrKind) {
		t.Errorf("a pipe: %v", err)
	}
	if _, _, err := Pack(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Archives write to their folder only, and files only.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]tar.Header{
		"a path above":             {{Typeflag: tar.TypeReg, Name: "../outside"}},
		"a path above, in between": {{Typeflag: tar.TypeReg, Name: "a/../../outside"}},
		"an absolute path":         {{Typeflag: tar.TypeReg, Name: "/outside"}},
		"a link to above":          {{Typeflag: tar.TypeSymlink, Name: "up", Linkname: ".."}, {Typeflag: tar.TypeReg, Name: "up/outside"}},
		"a hard link":              {{Typeflag: tar.TypeLink, Name: "in", Linkname: "../kept"}},
		"a device":                 {{Typeflag: tar.TypeChar, Name: "null"}},
		"the same file twice":      {{Typeflag: tar.TypeReg, Name: "a"}, {Typeflag: tar.TypeReg, Name: "a"}},
		"a file below a file":      {{Typeflag: tar.TypeReg, Name: "a"}, {Typeflag: tar.TypeReg, Name: "a/b"}},
		"no name":                  {{Typeflag: tar.TypeReg, Name: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			write(t, parent, map[string][]byte{"kept": []byte("x"), "in/kept": nil})
			var archive bytes.Buffer
			zip := gzip.NewWriter(&archive)
			w := tar.NewWriter(zip)
			for _, h := range headers {
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Close(), zip.Close()); err != nil {
				t.Fatal(err)
			}
			if err := unpack(&archive, filepath.Join(parent, "in"), expandBytes); err == nil {
				t.Error("it was unpacked")
			}
			for found := range read(t, parent) {
				if found != "kept" && !strings.HasPrefix(found, "in/") {
					t.Errorf("%s was written", found)
				}
			}
			if _, err := os.Lstat("/outside"); err == nil {
				t.Error("/outside was written")
			}
		})
	}
	const expandsTo = 16 << 20
	for name, c := range map[string]struct {
		files int
		size  int64
		want  string
	}{
		"files": {maxFiles + 1, 0, "more than 10000 files"},
		"bytes": {1, 2 * expandsTo, "expands to more than 20 times"},
	} {
		from, to := io.Pipe()
		go func() {
			zip, _ := gzip.NewWriterLevel(to, gzip.BestSpeed)
			w := tar.NewWriter(zip)
			err := error(nil)
			for n := 0; n < c.files && err == nil; n++ {
				err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strconv.Itoa(n), Size: c.size})
			}
			for n, zeros := int64(0), make([]byte, 1<<20); n < c.size && err == nil; n += 1 << 20 {
				_, err = w.Write(zeros)
			}
			_ = to.CloseWithError(errors.Join(err, w.Close(), zip.Close()))
		}()
		err := unpack(from, t.TempDir(), expandsTo)
		_ = from.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := unpack(strings.NewReader("no archive"), t.TempDir(), expandBytes); err == nil {
		t.Error("text was unpacked")
	}
}
