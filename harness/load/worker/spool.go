package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// item is a message that waits for delivery.
type item struct {
	frames   bool   // else acknowledged entries
	sequence uint64 // of acknowledged entries
	body     []byte
}

// Bounds of a spool, bytes.
const (
	// inMemory is from where on messages are written to disk.
	inMemory = 8 << 20
	// inMemoryOnly bounds the messages in memory if the disk takes none.
	inMemoryOnly = 64 << 20
	// onDisk bounds the file: an hour of frames of 1,000 series takes about 100 MiB.
	onDisk = 2 << 30
)

var errSpoolFull = errors.New("too many reports wait for the coordinator")

// spool is a queue of messages in memory and, when that is full, in a file without a
// name, which the system removes with the process however it ends.
type spool struct {
	dir  string
	wake chan struct{} // receives after a message was added, and when the spool is closed

	mu     sync.Mutex
	memory []item
	size   int // of the bodies in memory
	file   *os.File
	spans  []span // of the messages in the file, in order
	end    int64  // of the file
	closed bool
}

// span is a message in the file.
type span struct {
	item
	at   int64
	size int
}

func newSpool(dir string) *spool { return &spool{dir: dir, wake: make(chan struct{}, 1)} }

// push adds a message. It fails if neither memory nor disk takes it.
func (s *spool) push(i item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the worker has ended")
	}
	if len(s.spans) == 0 && s.size+len(i.body) <= inMemory {
		s.keep(i)
		return nil
	}
	if err := s.write(i); err != nil {
		// The order must stay: what follows a message on disk cannot go to memory.
		if len(s.spans) > 0 || s.size+len(i.body) > inMemoryOnly {
			return fmt.Errorf("%w: %w", errSpoolFull, err)
		}
		s.keep(i)
		return nil
	}
	s.signal()
	return nil
}

func (s *spool) keep(i item) {
	s.memory = append(s.memory, i)
	s.size += len(i.body)
	s.signal()
}

func (s *spool) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// write appends a message to the file.
func (s *spool) write(i item) error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "spool-")
		if err != nil {
			return err
		}
		if err := os.Remove(f.Name()); err != nil {
			return errors.Join(err, f.Close())
		}
		s.file = f
	}
	if s.end+int64(len(i.body)) > onDisk {
		return fmt.Errorf("%d MiB are on disk", s.end>>20)
	}
	if _, err := s.file.WriteAt(i.body, s.end); err != nil {
		return err
	}
	at := span{item: i, at: s.end, size: len(i.body)}
	at.body = nil
	s.spans, s.end = append(s.spans, at), s.end+int64(at.size)
	return nil
}

// first is the oldest message; false: there is none. It stays until it is removed.
func (s *spool) first() (item, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.memory) > 0 {
		return s.memory[0], true, nil
	}
	if len(s.spans) == 0 {
		return item{}, false, nil
	}
	at := s.spans[0]
	i := at.item
	i.body = make([]byte, at.size)
	if _, err := io.ReadFull(io.NewSectionReader(s.file, at.at, int64(at.size)), i.body); err != nil {
		return item{}, false, fmt.Errorf("read the spool: %w", err)
	}
	return i, true, nil
}

// remove removes the oldest message.
func (s *spool) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.memory) > 0 {
		s.size -= len(s.memory[0].body)
		s.memory[0] = item{}
		s.memory = s.memory[1:]
		return
	}
	s.spans = s.spans[1:]
	if len(s.spans) == 0 { // what follows goes to memory again
		s.spans, s.end = nil, 0
		_ = s.file.Truncate(0) // frees the disk; if it fails, the file is overwritten
	}
}

// waiting is the number of messages.
func (s *spool) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.memory) + len(s.spans)
}

// close ends the queue: it takes no more messages. done frees it.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.signal()
}

func (s *spool) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *spool) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close() // it has no name, and nobody reads it again
	}
}
