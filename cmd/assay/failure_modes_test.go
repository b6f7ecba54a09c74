//go:build live

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// failureMode is a row of the tables in docs/failure-modes.md, and of the one in
// docs/kubernetes.md.
type failureMode struct{ event, output, result, test string }

func readFailureModes(t *testing.T) (modes []failureMode) {
	t.Helper()
	text, err := os.ReadFile("../../docs/failure-modes.md")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, found := strings.Cut(string(cluster), "\n## When something fails\n")
	if !found {
		t.Fatal("docs/kubernetes.md has no chapter on what fails")
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	for _, line := range strings.Split(string(text)+chapter, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 1 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| what happens |") {
			continue
		}
		if len(cells) != 6 {
			t.Fatalf("%d cells: %s", len(cells)-2, line)
		}
		modes = append(modes, failureMode{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])})
	}
	return modes
}

var (
	// testReference is a row's test, and words in it.
	testReference = regexp.MustCompile("^`([\\w.]+)`: (.+)$")
	knownResult   = regexp.MustCompile(`\b(?:0|1|2|3|4|130|137|by its SLOs)\b`)
	// commentPrefix begins the second and later lines of a comment.
	commentPrefix = regexp.MustCompile(`\n\s*(?:#|//) ?`)
)

// The tables have these failure modes, and a test exists for each of their rows.
func TestFailureModes(t *testing.T) {
	modes := readFailureModes(t)
	for _, want := range []string{
		"disk is full during", "disk is full while the run is initialised", "no inode is left", "full after the record was sealed", "temporary files is full", "too few inodes",
		"memory of a process is limited", "limit on its memory", "everything stops for 20 s", "resolves to another address", "5 million rows", "hangs at the query of the ledger",
		"in the same folder", "script is changed", "connection limit is reached during", "answers 500", "resets", "hangs", "garbage",
		"connection pooler answers", "use a pooler", "logs every statement",
		"connection limit is reached before", "descriptors are exhausted", "unknown authority",
		"redirects to itself", "redirects to another path", "redirects to a host that is not allowed", "DNS fails",
		"clock steps by 2 s", "service is restarted", "two runs at once", "run folder is not writable",
		"worker is killed", "worker's pod is out of memory", "CPU quota throttles a worker", "worker stops for 5 s", "joins 3 s late", "never joins", "500 ms ahead", "drifts", "cut off from its coordinator for 10 s", "cut off for good",
		"frames are sent twice", "garbage, frames", "wrong token", "script changes", "coordinator is killed, and continues", "full disk", "5 % of the packets", "attack the coordinator",
		"`kubectl delete pod` of a worker", "evicted", "exceeds its memory", "CPU limit", "no node has room", "image cannot be pulled", "Service has no pod", "deleted during the run", "is killed at once", "API server", "lacks a right", "certify` is killed", "a second run of the same name",
	} {
		found := false
		for _, mode := range modes {
			found = found || strings.Contains(mode.event, want)
		}
		if !found {
			t.Errorf("there is no row for: %s", want)
		}
	}
	tests := testTexts(t)
	for _, mode := range modes {
		name := testReference.FindStringSubmatch(mode.test)
		switch {
		case mode.event == "" || mode.output == "" || !knownResult.MatchString(mode.result):
			t.Errorf("%q: output %q, result %q", mode.event, mode.output, mode.result)
		case name == nil:
			t.Errorf("%q: the test is %q, not a name and words in it", mode.event, mode.test)
		case tests[name[1]] == "":
			t.Errorf("%q: there is no test %s", mode.event, name[1])
		case !strings.Contains(tests[name[1]], name[2]):
			t.Errorf("%q: %s does not contain %q", mode.event, name[1], name[2])
		}
	}
}

// testTexts returns the scripts by file name, and all test functions and the methods that
// are parts of tests by name, each with its doc comment.
func testTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	function := regexp.MustCompile(`(?ms)^(?:// [^\n]*\n)*func (?:\(\w+ \*\w+\) )?([Tt]est[A-Z]\w*)\(t \*testing\.T\) \{.*?^\}`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch hidden := path != "../.." && strings.HasPrefix(d.Name(), "."); { // .git, .cache
		case err == nil && hidden && d.IsDir():
			return fs.SkipDir
		case err != nil || hidden || !d.Type().IsRegular():
			return err
		case !strings.HasSuffix(path, ".txtar") && !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		text = commentPrefix.ReplaceAll(text, []byte(" "))
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".txtar"):
			script, _, _ := bytes.Cut(text, []byte("\n-- "))
			texts[d.Name()] = string(script)
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range function.FindAllSubmatch(text, -1) {
				texts[string(found[1])] = string(commentPrefix.ReplaceAll(found[0], []byte(" ")))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
