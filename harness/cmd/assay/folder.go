package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/harness/observe/record"
)

func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	// JSON numbers are exact up to 2^53 in every reader.
	return binary.LittleEndian.Uint64(b[:]) >> 11
}

// runID sorts by time and is unique: 20261120T231500Z-payment-1f3a.
func runID(profile string) string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return fmt.Sprintf("%s-%s-%x", time.Now().UTC().Format("20060102T150405Z"), profile, b)
}

// folder is where a run goes, and which of its profile's runs there it is: 0,
// not known, for a folder that --out names.
func (f *certifyFlags) folder(id, profile string, several bool) (dir string, attempt int) {
	switch {
	case f.out == "":
		return filepath.Join(f.runs, id), record.Attempts(f.runs, profile, tool().Revision) + 1
	case several:
		return filepath.Join(f.out, profile), 0
	}
	return f.out, 0
}

// checkLatest makes sure that runs/latest can be linked after the run.
func checkLatest(runs string) error {
	link := filepath.Join(runs, "latest")
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return &usageError{link + " is not a link, so that it cannot be pointed at the next run", "give it another name, or name a folder with --out"}
	}
	return nil
}

// linkLatest points runs/latest at the newest run, in one step.
func linkLatest(runs, id string) error {
	link, tmp := filepath.Join(runs, "latest"), filepath.Join(runs, ".latest-"+id)
	if err := os.Symlink(id, tmp); err != nil {
		return fmt.Errorf("link latest run: %w", err)
	}
	if err := os.Rename(tmp, link); err != nil {
		return fmt.Errorf("link latest run: %w", errors.Join(err, os.Remove(tmp)))
	}
	return nil
}
