// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"assay.dev/assay/internal/mask"
)

// Error is a panic.
type Error struct {
	What  string // its value, on one line
	Where string // the file and line of this program that it came from
}

func (e *Error) Error() string { return "this program failed: " + e.What + ", at " + e.Where }

// Hint is what to do about it (package hint).
func (e *Error) Hint() string { return "this is a mistake in assay: report it with this line" }

// Guard turns a panic of the function that defers it into *err.
func Guard(err *error) {
	if left := recover(); left != nil {
		*err = New(left)
	}
}

// watcher gets the panics of goroutines; nil: they end the process as usual.
var watcher atomic.Pointer[func(error)]

// Watch names the function that is called when a goroutine has panicked, instead of ending
// the process. That goroutine calls it, and it must not block.
func Watch(ended func(error)) { watcher.Store(&ended) }

// Report reports a panic of the goroutine that defers it to the function that Watch names.
func Report() {
	if left := recover(); left != nil {
		Take(left)
	}
}

// Take reports a panic that a library has recovered. Without a function to report to, it
// panics again.
func Take(left any) {
	ended := watcher.Load()
	if ended == nil {
		panic(left)
	}
	(*ended)(New(left))
}

// Go starts a goroutine whose panic is reported.
func Go(f func()) {
	go func() {
		defer Report()
		f()
	}()
}

// Group is a sync.WaitGroup whose goroutines' panics are reported.
type Group struct{ sync.WaitGroup }

// Go starts a goroutine like the method of sync.WaitGroup, and reports its panic.
func (g *Group) Go(f func()) {
	g.WaitGroup.Go(func() {
		defer Report()
		f()
	})
}

// maxWhat bounds the value of a panic that is shown, bytes: it can quote any text.
const maxWhat = 200

// New is the error of a panic that the caller, a deferred function, has just recovered.
func New(left any) *Error {
	return &Error{What: mask.Line(fmt.Sprint(left), maxWhat), Where: where()}
}

// where is the file and line of this program where a panic began.
func where() string {
	frames := make([]uintptr, 64)
	stack := runtime.CallersFrames(frames[:runtime.Callers(1, frames)])
	panicked, first := false, ""
	for {
		f, more := stack.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked, first = true, "" // the earliest of several panics counts: it began the others
		case !panicked || strings.HasPrefix(f.Function, "runtime."):
		case strings.HasPrefix(f.Function, module): // else a library that was called from there
			return place(f)
		case first == "":
			first = place(f)
		}
		if !more {
			return first
		}
	}
}

// module begins the names of this program's functions.
const module = "assay.dev/assay/"

// place is the file without the folder that this program was compiled in, and the line.
func place(f runtime.Frame) string {
	file := f.File
	for _, folder := range []string{"/internal/", "/cmd/", "/lab/"} {
		if at := strings.LastIndex(file, folder); at >= 0 {
			file = file[at+1:]
			break
		}
	}
	return fmt.Sprintf("%s:%d", file, f.Line)
}

// Call calls f, and returns its panic as an error.
func Call(f func() error) (err error) {
	defer Guard(&err)
	return f()
}
