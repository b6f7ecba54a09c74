package sealed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/observe/record"
)

const groupHint = "name a run folder, or a folder of run folders"

// Compare compares the runs of folder B with those of A.
func Compare(ctx context.Context, dirA, dirB string, o compare.Options) (compare.Comparison, error) {
	a, err := readGroup(ctx, dirA)
	if err != nil {
		return compare.Comparison{}, err
	}
	b, err := readGroup(ctx, dirB)
	if err != nil {
		return compare.Comparison{}, err
	}
	return compare.Compare(a, b, o)
}

// readGroup reads and judges a run folder, or all run folders in a folder. Links such
// as runs/latest are skipped: they name runs of the same folder.
func readGroup(ctx context.Context, dir string) (compare.Group, error) {
	g := compare.Group{Name: dir}
	if _, err := os.Stat(dir); err != nil {
		return g, hint.With(fmt.Errorf("%s cannot be read: %w", dir, errors.Unwrap(err)), groupHint)
	}
	if r, err := readMember(dir); !errors.Is(err, record.ErrNoRun) {
		g.Runs = []compare.Run{r}
		return g, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return g, hint.With(fmt.Errorf("%s is not a folder of runs", dir), groupHint)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return g, err
		}
		path := filepath.Join(dir, e.Name())
		switch r, err := readMember(path); {
		case errors.Is(err, record.ErrNoRun): // another folder
		case errors.Is(err, record.ErrNotSealed):
			g.LeftOut = append(g.LeftOut, compare.LeftOut{Folder: path, Reason: record.ErrNotSealed.Error()})
		case err != nil: // such as a modified record, which must not be skipped silently
			return g, err
		default:
			g.Runs = append(g.Runs, r)
		}
	}
	if len(g.Runs)+len(g.LeftOut) == 0 {
		return g, hint.With(fmt.Errorf("%s holds no run folder", dir), groupHint)
	}
	return g, nil
}

func readMember(dir string) (compare.Run, error) {
	r, err := Open(dir)
	if err != nil {
		return compare.Run{}, err
	}
	return compare.Run{Folder: dir, Certificate: r.Certificate()}, nil
}
