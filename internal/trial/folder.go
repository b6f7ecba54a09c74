package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/hint"
)

// RandomSeed returns a seed below 2^53, which every JSON reader holds exactly.
func RandomSeed() uint64 { return rand.Uint64N(1 << 53) }

// NewID returns a unique run id that sorts by time: 20261120T231500Z-payment-1f3a.
func NewID(profile string) string {
	return fmt.Sprintf("%s-%s-%04x", time.Now().UTC().Format("20060102T150405Z"), profile, rand.N(1<<16))
}

const latestLink = "latest"

// CheckLatest fails if the link "latest" could not be set in this folder of runs.
func CheckLatest(runs string) error {
	link := filepath.Join(runs, latestLink)
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return hint.With(fmt.Errorf("%s is not a link, and cannot be set to the next run", link),
			"rename it, or name another folder with --out")
	}
	return nil
}

// linkLatest atomically sets the link "latest" in a folder of runs to this run.
func linkLatest(runs, id string) error {
	link, tmp := filepath.Join(runs, latestLink), filepath.Join(runs, "."+latestLink+"-"+id)
	if err := os.Symlink(id, tmp); err != nil {
		return fmt.Errorf("link latest run: %w", err)
	}
	if err := os.Rename(tmp, link); err != nil {
		return fmt.Errorf("link latest run: %w", errors.Join(err, os.Remove(tmp)))
	}
	return nil
}
