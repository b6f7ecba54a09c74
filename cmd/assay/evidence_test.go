//go:build live

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// edit FROM TO OLD NEW copies FROM to TO with OLD, which must occur once, replaced by NEW.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: edit FROM TO OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[2]); n != 1 {
		ts.Fatalf("%q occurs %d times in %s, want once", args[2], n, args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Replace(text, args[2], args[3], 1)), 0o644))
}

// truncate FILE removes the second half of the file.
func truncateFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: truncate FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()/2))
}

// flip-bit FILE inverts one bit in the middle of the file. Twice restores it.
func flipBit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip-bit FILE")
	}
	data := []byte(ts.ReadFile(args[0]))
	data[len(data)/2] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

// sum FILE FIELD TOTAL KEY=VALUE... fails unless the field's sum is the total, over the
// JSON lines in which all keys have these values. The field 1 counts the lines. A key
// is a field or a label.
func sum(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: sum FILE FIELD TOTAL KEY=VALUE...")
	}
	total := 0.0
	file, args := args[0], args[1:]
	for line := range strings.Lines(ts.ReadFile(file)) {
		fields := map[string]any{}
		ts.Check(json.Unmarshal([]byte(line), &fields))
		labels, _ := fields["labels"].(map[string]any)
		matches := true
		for _, condition := range args[2:] {
			key, want, _ := strings.Cut(condition, "=")
			got, ok := fields[key]
			if !ok {
				got = labels[key]
			}
			matches = matches && fmt.Sprint(got) == want
		}
		if !matches {
			continue
		}
		v, ok := fields[args[0]].(float64)
		if args[0] == "1" {
			v, ok = 1, true
		}
		if !ok {
			ts.Fatalf("no number %s in %s", args[0], line)
		}
		total += v
	}
	if got := strconv.FormatFloat(total, 'g', -1, 64); got != args[1] {
		ts.Fatalf("the sum of %s is %s, want %s", args[0], got, args[1])
	}
}

// keeps-secret SECRET,... CODE COMMAND... is like exits, and fails if a secret is on a
// command line of the command's processes, in the environment of its workers, or in
// its output.
func keepsSecret(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: keeps-secret SECRET,... CODE COMMAND...")
	}
	secrets := strings.Split(args[0], ",")
	stop := make(chan struct{})
	var watch sync.WaitGroup
	workers, leaks := map[string]bool{}, map[string]bool{}
	watch.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				for _, secret := range secrets {
					findSecret(ts.Getenv("WORK"), []byte(secret), workers, leaks)
				}
			}
		}
	})
	exits(ts, false, args[1:])
	close(stop)
	watch.Wait()
	for leak := range leaks {
		ts.Fatalf("the secret is in %s", leak)
	}
	if len(workers) == 0 {
		ts.Fatalf("no worker was seen")
	}
	for _, stream := range []string{"stdout", "stderr"} {
		for _, secret := range secrets {
			if strings.Contains(ts.ReadFile(stream), secret) {
				ts.Fatalf("the secret is printed on %s", stream)
			}
		}
	}
}

// findSecret checks all processes of the script that runs in the folder work, once. It
// adds the workers' pids to workers, and where it finds the secret to leaks.
func findSecret(work string, secret []byte, workers, leaks map[string]bool) {
	for pid := range processes() {
		line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")) // it may have ended
		words := string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		cwd, _ := os.Readlink(filepath.Join("/proc", pid, "cwd"))
		if cwd != work {
			continue // a process of another script, which may use the secret in a bad command line
		}
		if bytes.Contains(line, secret) {
			leaks["the command line of "+words] = true
		}
		if !strings.Contains(words, " k6 run ") {
			continue
		}
		environment, err := os.ReadFile(filepath.Join("/proc", pid, "environ"))
		if err == nil && len(environment) > 0 {
			workers[pid] = true
		}
		if bytes.Contains(environment, secret) {
			leaks["the environment of "+words] = true
		}
	}
}

// absent TEXT FOLDER fails if a file below the folder contains the text; .zst files are
// decompressed.
func absent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: absent TEXT FOLDER")
	}
	seen := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		seen++
		data, err := readDecompressed(path)
		if bytes.Contains(data, []byte(args[0])) {
			ts.Fatalf("%s contains the text", path)
		}
		return err
	}))
	if seen == 0 {
		ts.Fatalf("there is no file below %s", args[1])
	}
}

func readDecompressed(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || filepath.Ext(path) != ".zst" {
		return data, err
	}
	z, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return io.ReadAll(z)
}
