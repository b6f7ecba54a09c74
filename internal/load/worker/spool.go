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
	sequence uint64 // sequence number of acknowledged entries
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
	dir      string
	inMemory int                              // bytes
	say      func(format string, args ...any) // prints progress
	wake     chan struct{}                    // receives after a message was added, and when the spool is closed

	mu      sync.Mutex
	queue   []entry
	size    int // size of the bodies in memory
	file    *os.File
	stored  int   // messages in the file
	end     int64 // end of the file
	refused bool  // the disk has not taken the last message that was written to it
	closed  bool
}

// entry is a message in the queue.
type entry struct {
	item         // without its body if it is in the file
	stored bool  // it is in the file
	at     int64 // in the file
	size   int
}

func newSpool(dir string, say func(string, ...any)) *spool {
	return &spool{dir: dir, inMemory: inMemory, say: say, wake: make(chan struct{}, 1)}
}

// push adds a message. It fails if neither memory nor disk takes it.
func (s *spool) push(i item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the worker has ended")
	}
	e := entry{item: i, size: len(i.body)}
	if s.size+e.size > s.inMemory {
		err := s.write(&e)
		if err != nil && !s.refused {
			s.say("reports for the coordinator cannot be written to disk, and wait in memory: %v", err)
		}
		s.refused = err != nil
		if err != nil && s.size+e.size > inMemoryOnly {
			return fmt.Errorf("%w: %w", errSpoolFull, err)
		}
	}
	if !e.stored {
		s.size += e.size
	}
	s.queue = append(s.queue, e)
	s.signal()
	return nil
}

func (s *spool) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// write appends a message to the file.
func (s *spool) write(e *entry) error {
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
	if s.end+int64(e.size) > onDisk {
		return fmt.Errorf("%d MiB are on disk", s.end>>20)
	}
	if _, err := s.file.WriteAt(e.body, s.end); err != nil {
		return err
	}
	e.stored, e.at, e.body = true, s.end, nil
	s.stored, s.end = s.stored+1, s.end+int64(e.size)
	return nil
}

// first is the oldest message; false: there is none. It stays until it is removed.
func (s *spool) first() (item, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return item{}, false, nil
	}
	e := s.queue[0]
	if e.stored {
		e.body = make([]byte, e.size)
		if _, err := io.ReadFull(io.NewSectionReader(s.file, e.at, int64(e.size)), e.body); err != nil {
			return item{}, false, fmt.Errorf("read the spool: %w", err)
		}
	}
	return e.item, true, nil
}

// remove removes the oldest message.
func (s *spool) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.queue[0]
	s.queue[0] = entry{} // frees the body
	s.queue = s.queue[1:]
	if !e.stored {
		s.size -= e.size
		return
	}
	if s.stored--; s.stored == 0 {
		s.end = 0
		_ = s.file.Truncate(0) // frees the disk; if it fails, the file is overwritten
	}
}

// waiting is the number of messages.
func (s *spool) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
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
