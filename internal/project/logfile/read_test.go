package logfile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project/model/accesslog"
)

const line = `192.0.2.7 - - [18/May/2024:19:42:07 +0000] "GET /a HTTP/1.1" 200 1` + "\n"

func compressed(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func binary(n int) []byte {
	random := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = random.Read(data) // never fails
	return data
}

// What is no log, or not all of one, is an error of one line with a next step, and says what
// was tried.
func TestRefused(t *testing.T) {
	folder := t.TempDir()
	whole := compressed(t, strings.Repeat(line, 200_000))
	for _, c := range []struct {
		name   string
		data   []byte
		format accesslog.Format
		want   string
		next   string
	}{
		{"nothing", nil, "", "the log has no request", "name a log"},
		{"empty lines", []byte("\n\r\n\n"), "", "the log has no request", "name a log"},
		{"binary", binary(5 << 20), "", "lines, 0 as combined, 0 as json, 0 as alb are understood", "name the format"},
		{"one byte without end", bytes.Repeat([]byte{0}, 5<<20), "", "1 of 1 lines are not understood as combined; too long in 1 lines, first in line 1", "name the format"},
		{"text", []byte(strings.Repeat("It was a dark night.\n", 50) + line), "", "of its first 51 lines, 1 as combined, 0 as json, 0 as alb are understood", "name the format"},
		{"another format than given", []byte(strings.Repeat(line, 9)), accesslog.JSON, "9 of 9 lines are not understood as json; not an object of JSON in 9 lines, first in line 1", "name the format"},
		{"a log only at first", []byte(strings.Repeat(line, 2000) + strings.Repeat("x\n", 2001)), "", "2001 of 4001 lines are not understood as combined; no time in 2001 lines, first in line 2001", "name the format"},
		{"cut off", whole[:len(whole)/2], "", "compressed data are cut off", "gzip -dc"},
		{"cut off in its header", whole[:5], "", "compressed data are cut off", "gzip -dc"},
		{"damaged", append(append(bytes.Clone(whole[:100]), binary(50)...), whole[150:]...), "", "read damaged.log", ""},
		{"requests without a path only", []byte(strings.Replace(line, "GET /a", "CONNECT a:443", 1)), "", "the log has no request", "name a log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(folder, c.name+".log")
			if err := os.WriteFile(name, c.data, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Observe(t.Context(), []string{name}, Options{Format: c.format}, time.UTC)
			if err == nil {
				t.Fatal("it was read")
			}
			text := strings.ReplaceAll(err.Error(), folder+"/", "")
			if !strings.Contains(text, c.want) || strings.Contains(text, "\n") || strings.Contains(text, "192.0.2.7") {
				t.Errorf("error %q, want %q", text, c.want)
			}
			if next := hint.Of(err); !strings.Contains(next, c.next) {
				t.Errorf("hint %q, want %q", next, c.next)
			}
		})
	}
	for name, want := range map[string]string{folder: "read " + folder + ": it is a folder", filepath.Join(folder, "absent"): "absent: no such file or directory"} {
		if _, err := Observe(t.Context(), []string{name}, Options{}, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Lines that are not understood are counted by reason, and harm no other.
func TestSkipped(t *testing.T) {
	long := strings.Repeat("y", 3<<20)
	log := strings.Join([]string{
		line, "\n", "\xff\xfe\x00garbage\n", line, strings.Replace(line, "18/May", "41/May", 1), long, "\n", line,
		strings.Replace(line, "/a", "/"+long, 1), strings.Replace(line, "/a", "/\xff\xfe", 1), `{"time":1}` + "\n",
		strings.Replace(line, "GET /a HTTP/1.1", `\x16\x03`, 1), strings.Replace(line, " 200 ", " 2x0 ", 1),
		strings.Replace(line, "/a", "/"+strings.Repeat("z", 200<<10), 1), strings.TrimSuffix(line, "\n"),
	}, "")
	for name, data := range map[string][]byte{"plain": []byte(log), "compressed": compressed(t, log)} {
		inputs, tally, err := Read(t.Context(), []string{Stdin}, Options{Stdin: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
		in := inputs[0]
		got := map[string]Skipped{}
		for problem, s := range in.skipped {
			if s.Lines > 0 {
				got[accesslog.Problem(problem).String()] = s
			}
		}
		want := map[string]Skipped{"no time": {3, 2}, "too long": {2, 5}, "no path": {1, 10}, "no status": {1, 11}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if in.Requests != 6 || in.Lines != 13 || tally.Requests != 6 {
			t.Errorf("%s: %d requests in %d lines", name, in.Requests, in.Lines)
		}
	}
}

// endless is a log in which every line has another path, name and time.
type endless struct {
	random *rand.Rand
	left   int
	rest   []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left == 0 {
			return 0, io.EOF
		}
		e.left--
		e.rest = e.line(e.rest)
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *endless) line(b []byte) []byte {
	letter := func() byte { return byte('a' + e.random.IntN(26)) }
	at := time.Unix(946_684_800+e.random.Int64N(1e9), 0).UTC()
	b = append(at.AppendFormat(append(b, "::1 - - ["...), "02/Jan/2006:15:04:05 -0700"), "] \""...)
	b = append(append(b, []string{"GET", "POST", "PUT"}[e.random.IntN(3)]...), ' ')
	path := len(b)
	for range 1 + e.random.IntN(10) {
		b = append(b, '/')
		for range 1 + e.random.IntN(8) {
			b = append(b, letter())
		}
	}
	name := string(b[path:])
	return append(append(append(b, '?'), name...), "=1 HTTP/1.1\" 200 1\n"...)
}

// sparse is a log with a request for each of some endpoints in each minute.
type sparse struct {
	start     time.Time
	minutes   int
	endpoints []string // lines but for their beginning
	minute    int
	rest      []byte
}

func newSparse(start time.Time, endpoints, minutes int) *sparse {
	s := &sparse{start: start, minutes: minutes}
	for i := range endpoints {
		s.endpoints = append(s.endpoints, fmt.Sprintf("] \"GET /%c%c/%c%c HTTP/1.1\" 200 1\n", 'a'+i%10, 'a'+i/10%10, 'a'+i/100%5, 'a'+i/500))
	}
	return s
}

func (s *sparse) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		if s.minute == s.minutes {
			return 0, io.EOF
		}
		at := s.start.Add(time.Duration(s.minute)*time.Minute).AppendFormat(nil, "02/Jan/2006:15:04:05 -0700")
		s.rest = s.rest[:0]
		for _, e := range s.endpoints {
			s.rest = append(append(append(s.rest, "::1 - - ["...), at...), e...)
		}
		s.minute++
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// A day with many endpoints is counted to the second, also from standard input, and a log in
// a day is read once: what it is read from here cannot be opened again.
func TestManyEndpoints(t *testing.T) { manyEndpoints(t, 4*60) }

// manyEndpoints has a request for each in each of the minutes.
func manyEndpoints(t *testing.T, minutes int) {
	t.Helper()
	const endpoints = 360
	start := time.Date(2024, 5, 18, 2, 0, 0, 0, time.UTC)
	log := func() io.Reader { return newSparse(start, endpoints, minutes) }
	name := filepath.Join(t.TempDir(), "access.log")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		to, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err == nil {
			_, err = io.Copy(to, log())
		}
		if err == nil {
			err = to.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for _, name := range []string{name, Stdin} {
		o, err := Observe(ctx, []string{name}, Options{Stdin: log()}, time.UTC)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if o.Tally.Requests != endpoints*uint64(minutes) || o.Tally.Coarse != 0 || o.Outside != 0 {
			t.Errorf("%s: %d requests, of which %d not by the second, %d outside", name, o.Tally.Requests, o.Tally.Coarse, o.Outside)
		}
	}
}

// An interrupt ends the reading of a log that never ends, and of one that never begins.
func TestInterrupted(t *testing.T) {
	silent, _ := io.Pipe()
	for name, log := range map[string]io.Reader{
		"endless": io.MultiReader(strings.NewReader(line), &endless{random: rand.New(rand.NewPCG(1, 1)), left: 1 << 60}),
		"silent":  silent,
	} {
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, _, err := Read(ctx, []string{Stdin}, Options{Stdin: log})
			done <- err
		}()
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = silent.Close() // ends the goroutine that reads it
}

// A compressed log of a few hundred kilobytes that expands to hours of work is given up.
func TestExpands(t *testing.T) {
	t.Parallel()
	in, err := decompress(bytes.NewReader(compressed(t, strings.Repeat("\n", 2*expandBytes))))
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if err == nil || !strings.Contains(err.Error(), "expands to more than 300 times its size") || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
}
