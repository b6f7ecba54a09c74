package budget

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// pool is a number of units that processes share: a byte each of a file, which is locked
// while it is taken. The kernel unlocks the bytes of a process that ends, however it does.
type pool struct {
	file     *os.File
	units    int
	patience time.Duration // after which one who is not served keeps what becomes free
	taken    []int64       // the units, by their bytes
}

// The bytes of the file that are locked.
const (
	gate    = 0       // by the one who looks for free units
	gather  = 1       // by the one who keeps what becomes free, until it is enough
	needs   = 1 << 20 // needs+n: by the first of those who wait for n units
	unitsAt = 2 << 20 // unitsAt+i: unit i
)

const (
	// pollEvery is how often those who wait look for free units: a lock cannot be awaited
	// for several bytes at once.
	pollEvery = 50 * time.Millisecond
	patience  = time.Minute
)

// openPool opens the pool of a folder, which it makes if there is none.
func openPool(dir string, units int) (*pool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "cpus"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &pool{file: f, units: units, patience: patience}, nil
}

// take waits for this many units. Of those who need no more than what is free, one who needs
// most is served first, so that little is idle. One who has not been served for long keeps
// what becomes free: nobody waits for ever. As only one keeps units while it waits, no two
// wait for each other.
func (p *pool) take(units int) (err error) {
	first := needs + int64(units)
	if err := p.lock(unix.F_OFD_SETLKW, first); err != nil {
		return err
	}
	gathers := false
	defer func() { err = errors.Join(err, p.unlock(gate), p.unlock(gather), p.unlock(first)) }()
	for since := time.Now(); ; time.Sleep(pollEvery) {
		if !gathers && time.Since(since) >= p.patience {
			if gathers, err = p.try(gather); err != nil {
				return err
			}
		}
		if err := p.lock(unix.F_OFD_SETLKW, gate); err != nil {
			return err
		}
		if done, err := p.tryTake(units, gathers); done || err != nil {
			return err
		}
		if err := p.unlock(gate); err != nil {
			return err
		}
	}
}

// tryTake takes this many units if they are free and nobody who needs more could have them;
// otherwise none, or, for one who gathers, those that are free.
func (p *pool) tryTake(units int, gathers bool) (done bool, err error) {
	for i := range int64(p.units) {
		if free, err := p.try(unitsAt + i); err != nil {
			return false, err
		} else if free {
			p.taken = append(p.taken, unitsAt+i)
		}
	}
	keep := min(units, len(p.taken))
	if done = keep == units; done && !gathers && len(p.taken) > units {
		others, err := p.locked(needs+int64(units)+1, needs+int64(len(p.taken)))
		if err != nil {
			return false, err
		}
		done = !others
	}
	if !done && !gathers {
		keep = 0
	}
	for _, u := range p.taken[keep:] {
		if err := p.unlock(u); err != nil {
			return false, err
		}
	}
	p.taken = p.taken[:keep]
	return done, nil
}

// close gives all units back.
func (p *pool) close() { _ = p.file.Close() } // which unlocks them

// try locks a byte, unless somebody else, or this pool, has locked it.
func (p *pool) try(at int64) (bool, error) {
	if slices.Contains(p.taken, at) {
		return false, nil
	}
	err := p.lock(unix.F_OFD_SETLK, at)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

func (p *pool) lock(how int, at int64) error {
	return p.fcntl(how, &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1})
}

func (p *pool) unlock(at int64) error {
	return p.fcntl(unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK, Start: at, Len: 1})
}

// locked reports whether others have locked a byte from first to last.
func (p *pool) locked(first, last int64) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: first, Len: last - first + 1}
	err := p.fcntl(unix.F_OFD_GETLK, &l)
	return l.Type != unix.F_UNLCK, err
}

// fcntl is fcntl(2) with a lock of the open file, also where a signal interrupts it.
func (p *pool) fcntl(how int, l *unix.Flock_t) error {
	l.Whence = io.SeekStart
	for {
		if err := unix.FcntlFlock(p.file.Fd(), how, l); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
