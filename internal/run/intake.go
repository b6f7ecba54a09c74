package run

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

// intake adds what workers, other senders and the collectors send to the record, and shows it
// to those who watch the load.
type intake struct {
	writer  *record.Writer
	checker *record.Checker
	watch   *watcher
	looks   *looks
	delays  *receiver.Delays
	view    *view // nil: none

	begun          atomic.Bool  // the record exists, and takes what is sent
	acks           atomic.Int64 // transactions acknowledged to this process
	contradictions chan string  // holds the first of a worker
	failures       chan error   // holds the first failure to append to the record
}

// newIntake is that of a run of a profile, with these replicas.
func newIntake(p spec.Profile, readers []string) *intake {
	return &intake{
		watch: newWatcher(p.Abort, len(readers)), looks: &looks{}, delays: receiver.NewDelays(),
		contradictions: make(chan string, 1), failures: make(chan error, 1),
	}
}

// receiver makes the receiver of the run, which masks the texts of other senders, but for the
// words that the profile selects by.
func (in *intake) receiver(o *Options, keys wire.Keys) *receiver.Receiver {
	mask.Keep(o.Profile.Name)
	for _, f := range o.Profile.Flows {
		mask.Keep(f.Name)
	}
	for _, s := range o.Profile.AllSLOs() {
		mask.Keep(s.Words()...)
	}
	return receiver.New(receiver.Sinks{Frames: in.frames, Acknowledged: in.acknowledged, Flush: in.flush}, keys, o.Log)
}

// errNotBegun is the answer to those who send before there is a record: they send again.
var errNotBegun = errors.New("the run has not begun")

// append appends something to the record. A failure ends the run: nothing can be appended
// after it, and a repeated frame would fail again.
func (in *intake) append(write func() error) error {
	if !in.begun.Load() {
		return errNotBegun
	}
	err := write()
	if err != nil {
		first(in.failures, err)
	}
	return err
}

// first keeps a value if it is the first one.
func first[T any](kept chan T, v T) {
	select {
	case kept <- v:
	default:
	}
}

// frames adds the frames of one message to the record. encoded is the message; nil: they
// are to be encoded.
func (in *intake) frames(frames []metric.Frame, encoded []byte) error {
	err := in.append(func() (err error) {
		if encoded == nil {
			encoded, err = metric.Encode(frames...)
		}
		if err == nil {
			err = in.writer.Frames(encoded)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range frames {
		f, why := in.check(f)
		if why != nil {
			err = cmp.Or(err, why)
			continue
		}
		in.watch.add(f)
		in.delays.Add(f)
		in.looks.add(f)
		in.view.add(f)
	}
	return err
}

// check returns what a frame holds that can have been measured. A worker's frame that cannot is
// in the record, which is INVALID because of it: it ends the run, and the worker is refused.
func (in *intake) check(f metric.Frame) (metric.Frame, error) {
	why := in.checker.Frame(f)
	switch {
	case why == nil:
		return f, nil
	case !metric.IsWorker(f.Source):
		return f.Sound(), nil
	}
	err := fmt.Errorf("%s contradicts itself: %w", f.Source, why)
	first(in.contradictions, err.Error())
	return f, receiver.NewImpossible(err)
}

func (in *intake) acknowledged(source string, batch uint64, entries []ledger.Entry) error {
	err := in.append(func() error { return in.writer.Acknowledged(source, batch, entries) })
	if err == nil {
		in.acks.Add(int64(len(entries)))
	}
	return err
}

// flush makes the record durable.
func (in *intake) flush() error { return in.append(func() error { return in.writer.Flush() }) }
