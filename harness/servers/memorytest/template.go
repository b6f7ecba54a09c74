package memorytest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Main runs the tests of a package that starts many servers, with a folder for data to
// copy (Copy) instead of initialising it for each server. use gets the folder before the
// tests; it is removed after them. Six tests run in parallel, as they wait more than they
// compute, unless -parallel is set.
func Main(m *testing.M, use func(dir string)) int {
	dir, err := Make("assay-templates-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = flag.Set("test.parallel", "6")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare tests:", err)
		return 1
	}
	use(dir)
	return m.Run()
}

// Copy copies the content of a folder, with owners and modes, into another, which it makes
// if there is none.
func Copy(from, to string) error {
	// os.CopyFS keeps neither owners, modes nor holes.
	out, err := exec.Command("cp", "-aT", "--reflink=auto", "--sparse=always", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}
