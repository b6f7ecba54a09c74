package fleet

import (
	"os"
	"testing"

	"assay/harness/observe/record"
)

// The coordinator keeps no more of a worker's log than the record takes, whoever sends it.
func TestLogIsLimited(t *testing.T) {
	c := &Coordinator{logs: t.TempDir(), members: []*member{{}}}
	part := make([]byte, 3<<20)
	for i := range int64(8) {
		offset := min(i*int64(len(part)), record.MaxLog)
		if err := c.appendLog(0, offset, part); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(c.logPath(0))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != record.MaxLog {
		t.Errorf("the log has %d bytes", info.Size())
	}
}
