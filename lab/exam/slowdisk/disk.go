package slowdisk

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Disk delays the calls of the programs that were started on it.
type Disk struct {
	listener *net.UnixListener
	answers  sync.WaitGroup // goroutines that answer

	mu    sync.Mutex
	files []*file
}

// file is a pattern of file names that are delayed, one call at a time.
type file struct {
	pattern string
	busy    sync.Mutex
	delay   time.Duration // guarded by Disk.mu
	calls   int           // likewise
}

// Listen creates a disk for the programs that connect to the socket, a path that must
// not exist. It delays nothing yet.
func Listen(socket string) (*Disk, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		return nil, fmt.Errorf("create slow disk: %w", err)
	}
	d := &Disk{listener: l}
	d.answers.Go(d.accept)
	return d, nil
}

// Slow delays every call on files whose base name matches the pattern (of
// filepath.Match). Concurrent calls wait for each other. A delay of 0 ends it.
func (d *Disk) Slow(pattern string, delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		if f.pattern == pattern {
			f.delay = delay
			return
		}
	}
	d.files = append(d.files, &file{pattern: pattern, delay: delay})
}

// Calls is the number of delayed calls on the pattern's files so far.
func (d *Disk) Calls(pattern string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		if f.pattern == pattern {
			return f.calls
		}
	}
	return 0
}

// Close stops listening, and waits until the programs on the disk have ended.
func (d *Disk) Close() error {
	err := d.listener.Close()
	d.answers.Wait()
	return err
}

func (d *Disk) accept() {
	for {
		conn, err := d.listener.AcceptUnix()
		if err != nil {
			return // closed
		}
		fd, err := receive(conn)
		_ = conn.Close()
		if err == nil { // otherwise the program ended before it was executed
			d.answers.Go(func() { d.serve(fd) })
		}
	}
}

// receive receives the descriptor that Exec sends.
func receive(conn *net.UnixConn) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return -1, errors.Join(err, errors.New("no file descriptor received"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(err, errors.New("no file descriptor received"))
	}
	return fds[0], nil
}

// notification is struct seccomp_notif, answer struct seccomp_notif_resp.
type notification struct {
	id           uint64
	pid          uint32
	_            uint32
	call         int32
	architecture uint32
	_            uint64
	arguments    [6]uint64
}

type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// serve answers the calls of a program until it has ended.
func (d *Disk) serve(fd int) {
	defer unix.Close(fd)
	var open sync.WaitGroup
	defer open.Wait() // answers to an ended program fail at once
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents != 0 {
				return // POLLHUP: no process is under the filter any more
			}
			continue
		}
		var n notification
		if err := control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			continue // the call was interrupted, or its thread killed
		}
		f := d.slowFile(n)
		if f == nil {
			_ = proceed(fd, n.id)
			continue
		}
		open.Go(func() { d.hold(f); _ = proceed(fd, n.id) })
	}
}

// slowFile is the slow file of a call; nil if the call is not delayed.
func (d *Disk) slowFile(n notification) *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := ""
	for _, f := range d.files {
		if f.delay == 0 {
			continue
		}
		if path == "" { // read only if a file is slow
			path, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.arguments[0]))
			path = filepath.Base(strings.TrimSuffix(path, " (deleted)"))
		}
		if ok, _ := filepath.Match(f.pattern, path); ok {
			f.calls++
			return f
		}
	}
	return nil
}

func (d *Disk) hold(f *file) {
	f.busy.Lock()
	defer f.busy.Unlock()
	d.mu.Lock()
	delay := f.delay
	d.mu.Unlock()
	time.Sleep(delay)
}

// proceed lets the kernel execute a call.
func proceed(fd int, id uint64) error {
	return control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}))
}

func control(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, number := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); number != 0 {
		return number
	}
	return nil
}
