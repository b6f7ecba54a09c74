package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"assay.dev/assay/internal/series/experiment/binlog"
	"assay.dev/assay/internal/servers/process"
)

// ReadersCommand is the command of this program that reads the binlog. Its argument is
// the number of readers; ASSAY_DB is the DSN. It writes a line of JSON (binlog.Read) once
// all readers have started, then every second, and when it is stopped.
const ReadersCommand = "binlog-readers"

// readers is the process that reads the binlog. It is killed if this process ends.
type readers struct {
	child *process.Child
	out   *os.File
}

const (
	readersTimeout = 30 * time.Second // to start, and to end
	pollInterval   = 20 * time.Millisecond
)

func startReaders(ctx context.Context, executable, dsn string, count int) (_ *readers, err error) {
	out, err := os.CreateTemp("", "assay-readers-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(out.Name()) // only the descriptor is needed
	cmd := exec.Command(executable, ReadersCommand, strconv.Itoa(count))
	cmd.Env = append(process.WithoutSecrets(), "ASSAY_DB="+dsn)
	cmd.Stdout, cmd.Stderr = out, out
	r := &readers{out: out}
	if r.child, err = process.Start(cmd, process.Tied); err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("start binlog readers: %w", err)
	}
	limit := time.After(readersTimeout)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		var reason error
		select {
		case <-tick.C:
			if _, started := r.read(); started {
				return r, nil
			}
			continue
		case <-r.child.Done():
			reason = fmt.Errorf("the process has exited%s", process.LastLine(r.output()))
		case <-limit:
			reason = fmt.Errorf("no event read within %s", readersTimeout)
		case <-ctx.Done():
			reason = context.Cause(ctx)
		}
		return nil, errors.Join(fmt.Errorf("start binlog readers: %w", reason), r.child.Kill(), out.Close())
	}
}

func (r *readers) output() []byte {
	info, err := r.out.Stat()
	if err != nil {
		return nil
	}
	output := make([]byte, info.Size())
	n, _ := r.out.ReadAt(output, 0)
	return output[:n]
}

// read is what the readers have read by their newest report. It is not ok if there is none.
func (r *readers) read() (read binlog.Read, ok bool) {
	output := r.output()
	complete := output[:bytes.LastIndexByte(output, '\n')+1]
	lines := bytes.Split(bytes.TrimSpace(complete), []byte("\n"))
	err := json.Unmarshal(lines[len(lines)-1], &read)
	return read, err == nil
}

// stop stops the readers, and returns what they have read. If they had ended before, that
// is an error: a part of the run was made without them.
func (r *readers) stop() (binlog.Read, error) {
	defer func() { _ = r.out.Close() }()
	ended := false
	select {
	case <-r.child.Done():
		ended = true
	default:
	}
	if err := r.child.Stop(readersTimeout); err != nil {
		return binlog.Read{}, fmt.Errorf("stop binlog readers: %w", err)
	}
	if err := r.child.Err(); err != nil || ended {
		return binlog.Read{}, fmt.Errorf("binlog readers ended before the run did%s", process.LastLine(r.output()))
	}
	read, ok := r.read()
	if !ok {
		return read, fmt.Errorf("binlog readers did not report what they had read%s", process.LastLine(r.output()))
	}
	return read, nil
}
