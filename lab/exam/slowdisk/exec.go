package slowdisk

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watched are the system calls that wait for the disk.
var watched = []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_PREAD64}

// Offsets in struct seccomp_data.
const (
	offsetCall         = 0
	offsetArchitecture = 4
)

// filter notifies the disk of the watched calls and allows all others.
func filter() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	equals := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	n := uint8(len(watched))
	// In another architecture (32 bit) the numbers are those of other calls.
	all := []unix.SockFilter{load(offsetArchitecture), equals(architecture, 0, n+1), load(offsetCall)}
	for i, call := range watched {
		all = append(all, equals(call, n-uint8(i), 0))
	}
	return append(all, answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_USER_NOTIF))
}

// Exec replaces this process by the program, on the disk that listens on the socket.
// It returns only if that fails.
func Exec(socket, program string, args ...string) error {
	// The filter is that of this thread, and is inherited by the program it executes.
	runtime.LockOSThread()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket})
	if err != nil {
		return fmt.Errorf("connect to the disk: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	code := filter()
	// A signal to a thread whose call is being delayed, such as those by which Go's runtime
	// preempts goroutines, must not interrupt the call: it would be repeated, and delayed again.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	listener, _, number := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})))
	runtime.KeepAlive(code)
	if number != 0 {
		return fmt.Errorf("install the seccomp filter, which Linux has since 5.19: %w", number)
	}
	if _, _, err := conn.WriteMsgUnix([]byte{0}, unix.UnixRights(int(listener)), nil); err != nil {
		return fmt.Errorf("send the seccomp listener: %w", err)
	}
	_ = unix.Close(int(listener))
	_ = conn.Close()
	err = unix.Exec(program, append([]string{program}, args...), os.Environ())
	return fmt.Errorf("start %s: %w", program, err)
}
