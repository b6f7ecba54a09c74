package fleet

import (
	"errors"
	"os"
	"strings"
	"testing"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/record"
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

// A worker does not know the secrets of this process that it does not need, and the target may
// tell them to its script. A part of the log may end anywhere, and may come again.
func TestLogHoldsNoSecret(t *testing.T) {
	const secret = "fleet-log-pa55word"
	mask.Add(secret)
	c := &Coordinator{logs: t.TempDir(), members: []*member{{}}}
	const log = "an error page: mysql://u:" + secret + "@db\nthe last line has " + secret
	offset := int64(0)
	for _, part := range []string{log[:30], log[30:60], log[60:]} {
		for range 2 {
			if err := c.appendLog(0, offset, []byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		offset += int64(len(part))
	}
	c.endLog(0)
	text, err := os.ReadFile(c.logPath(0))
	if want := strings.ReplaceAll(log, secret, "***"); string(text) != want || err != nil {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	// A coordinator that continues the run goes on where the worker does.
	c.members[0] = &member{log: workerLog{received: -1}}
	if err := c.appendLog(0, offset, []byte(", and goes on\n")); err != nil {
		t.Fatal(err)
	}
	var gap *gapError
	if err := c.appendLog(0, offset+100, []byte("later\n")); !errors.As(err, &gap) {
		t.Errorf("a gap: %v", err)
	}
	text, _ = os.ReadFile(c.logPath(0))
	if !strings.HasSuffix(string(text), "*, and goes on\n") {
		t.Errorf("continued: %q", text)
	}
}
