package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/harness/lab/experiment/binlog"
	"assay/harness/servers/process"
)

// Read is what readers of the binlog have read.
type Read = binlog.Read

// ReadersCommand is the command of this program that reads the binlog: its
// argument is the number of readers, ASSAY_DB names the database. It writes a line
// when all readers read, and a line of JSON (Read) when it is stopped.
const ReadersCommand = "binlog-readers"

// readers are the process that reads the binlog. It ends with this process.
type readers struct {
	child *process.Child
	out   *os.File
	done  Read // once they have ended
}

const (
	readersTimeout = 30 * time.Second // to start, and to end
	readersEvery   = 20 * time.Millisecond
)

func startReaders(ctx context.Context, executable, dsn string, count int) (_ *readers, err error) {
	out, err := os.CreateTemp("", "assay-readers-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(out.Name()) // only the descriptor is needed
	cmd := exec.Command(executable, ReadersCommand, strconv.Itoa(count))
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ASSAY_") }), "ASSAY_DB="+dsn)
	cmd.Stdout, cmd.Stderr = out, out
	r := &readers{out: out}
	if r.child, err = process.Start(cmd, process.Tied); err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("start the readers of the binlog: %w", err)
	}
	limit := time.After(readersTimeout)
	tick := time.NewTicker(readersEvery)
	defer tick.Stop()
	for {
		var why error
		select {
		case <-tick.C:
			if bytes.HasPrefix(r.said(), []byte("reading\n")) {
				return r, nil
			}
			continue
		case <-r.child.Done():
			why = fmt.Errorf("they ended at once%s", lastOf(r.said()))
		case <-limit:
			why = fmt.Errorf("nothing came within %s", readersTimeout)
		case <-ctx.Done():
			why = context.Cause(ctx)
		}
		return nil, errors.Join(fmt.Errorf("start the readers of the binlog: %w", why), r.child.Kill(), out.Close())
	}
}

func (r *readers) said() []byte {
	info, err := r.out.Stat()
	if err != nil {
		return nil
	}
	said := make([]byte, info.Size())
	n, _ := r.out.ReadAt(said, 0)
	return said[:n]
}

// stop ends the readers. Readers that had ended by themselves are an error: the run
// went on without them.
func (r *readers) stop() error {
	defer func() { _ = r.out.Close() }()
	ended := false
	select {
	case <-r.child.Done():
		ended = true
	default:
	}
	if err := r.child.Stop(readersTimeout); err != nil {
		return fmt.Errorf("stop the readers of the binlog: %w", err)
	}
	said := r.said()
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	if err := r.child.Err(); err != nil || ended {
		return fmt.Errorf("the readers of the binlog did not read to the end of the run%s", lastOf(said))
	}
	if err := json.Unmarshal(lines[len(lines)-1], &r.done); err != nil {
		return fmt.Errorf("the readers of the binlog: %w", err)
	}
	return nil
}
