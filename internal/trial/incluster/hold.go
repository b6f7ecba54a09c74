package incluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/observe/record"
)

// Files of the coordinator's pod.
const (
	unpackedFolder = cluster.Scratch + "/project"
	pidFile        = cluster.Scratch + "/coordinator.pid"
	exportedFile   = cluster.Scratch + "/exported" // is there once the record was exported
)

// complete is the line that says that the record can be collected.
const complete = "the record is complete and waits to be collected"

// Prepare unpacks the project in the coordinator's pod and changes to its folder.
func Prepare(folder string) error {
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return fmt.Errorf("prepare the coordinator's pod: %w", err)
	}
	archive, err := os.Open(filepath.Join(projectFolder, projectFile))
	if err == nil {
		defer archive.Close() //nolint:errcheck // it is only read
		err = os.MkdirAll(unpackedFolder, 0o755)
	}
	if err == nil {
		err = unpack(archive, unpackedFolder, expandBytes)
	}
	if err == nil {
		err = os.Chdir(filepath.Join(unpackedFolder, folder))
	}
	if err != nil {
		return fmt.Errorf("prepare the coordinator's pod: %w", err)
	}
	return nil
}

// Listen is the address in the coordinator's pod that workers join at.
func Listen() string { return net.JoinHostPort(os.Getenv(envPodIP), workPort) }

// collectWithin is how long a coordinator that is told to end keeps its record (ours).
const collectWithin = 30 * time.Second

// Hold waits until the record was exported and this process is told to end, in either
// order, or nobody has collected it in time. It returns at once if there is no sealed
// record.
func Hold(ctx context.Context, w io.Writer) {
	if record.CheckSeal(RunFolder) != nil {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	fmt.Fprintln(w, complete)
	told := false
	limit := time.NewTimer(holdFor)
	end := func() {
		if !told {
			told = true
			limit.Reset(collectWithin)
		}
	}
	if ctx.Err() != nil { // what ended the run
		end()
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-signals:
			end()
		case <-limit.C:
			return
		case <-tick.C:
		}
		if _, err := os.Stat(exportedFile); told && err == nil {
			return
		}
	}
}

// Export writes an archive of the run folder, in the coordinator's pod.
func Export(w io.Writer) error {
	if err := record.CheckSeal(RunFolder); err != nil {
		return err
	}
	if err := packFolder(w, RunFolder); err != nil {
		return fmt.Errorf("export the record: %w", err)
	}
	return os.WriteFile(exportedFile, nil, 0o600)
}

// Interrupt tells the coordinator in this pod to end its run.
func Interrupt() error {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return fmt.Errorf("interrupt the coordinator: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 1 {
		return errors.New("interrupt the coordinator: its process id is not known")
	}
	return syscall.Kill(pid, syscall.SIGTERM)
}
