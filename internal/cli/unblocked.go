// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"assay.dev/assay/internal/crash"
)

// Unblocked is a writer that holds nobody up. A terminal may be stopped (Ctrl-S), or a pipe full,
// for hours: whoever ends a load must not wait until somebody reads on. Until then the texts are
// kept in memory, and those beyond backlog are lost.
type Unblocked struct {
	To io.Writer

	mu      sync.Mutex
	pending []byte
	lost    int           // bytes that were beyond backlog; what follows them is lost too, until a text can be written
	done    chan struct{} // closed when nothing is pending any more; nil: nothing is
	stuck   bool          // a write takes longer than anybody waits
	err     error         // error of the last write
}

const (
	// backlog is what is kept of texts that cannot be written, bytes.
	backlog = 1 << 20
	// heldUp is for how long a text is waited for, so that it is written before what another
	// writer writes next.
	heldUp = time.Second
)

// Write writes the text, or keeps it.
func (u *Unblocked) Write(text []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lost == 0 && len(u.pending)+len(text) <= backlog {
		u.pending = append(u.pending, text...)
	} else {
		u.lost += len(text)
	}
	if u.done == nil {
		u.done = make(chan struct{})
		crash.Go(u.drain)
	}
	if u.stuck {
		return len(text), nil
	}
	done := u.done
	u.mu.Unlock()
	select {
	case <-done:
	case <-time.After(heldUp):
	}
	u.mu.Lock()
	if u.done == done {
		u.stuck = true
		return len(text), nil
	}
	return len(text), u.err
}

// drain writes what is pending.
func (u *Unblocked) drain() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.pending) > 0 || u.lost > 0 {
		text := u.pending
		if u.pending = nil; u.lost > 0 {
			text = fmt.Appendf(text, "assay: %d bytes of messages are left out here\n", u.lost)
			u.lost = 0
		}
		u.mu.Unlock()
		_, err := u.To.Write(text)
		u.mu.Lock()
		u.err = err
	}
	close(u.done)
	u.done, u.stuck = nil, false
}

// Fd is the descriptor of the file that is written to, for callers that ask whether it is a
// terminal. If it is no file, no such descriptor exists.
func (u *Unblocked) Fd() uintptr {
	if f, ok := u.To.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
