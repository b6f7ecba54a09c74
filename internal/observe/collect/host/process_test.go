package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// Where a kernel has no schedstat, as in gVisor, the time in the run queue is not known,
// rather than 0.
func TestQueueWithoutSchedstat(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	thread := filepath.Join(root, "7", "task", "7")
	if err := os.MkdirAll(thread, 0o755); err != nil {
		t.Fatal(err)
	}
	fs, err := procfs.NewFS(root)
	if err != nil {
		t.Fatal(err)
	}
	var w process
	if w.queue(fs, []int{7}) {
		t.Error("a time is known without schedstat")
	}
	for i, waited := range []string{"1000000000", "3500000000"} {
		if err := os.WriteFile(filepath.Join(thread, "schedstat"), []byte("5 "+waited+" 9\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		want := time.Duration(i) * 2500 * time.Millisecond
		if !w.queue(fs, []int{7}) || w.queued != want {
			t.Errorf("queued for %s, want %s", w.queued, want)
		}
	}
}
