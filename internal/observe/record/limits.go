// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/foreign"
)

// Limits of what is read of a record, which somebody else may have made (docs/records.md
// lists them). A real run meets none of them: what it can make at its largest is a load of
// spec.MaxDuration by spec.MaxFleet workers.
const (
	// MaxDocument is the size of a JSON document of a run folder, in bytes. The largest are
	// the facts of a run that a condition stopped which held for a day: 5 MB of readings.
	MaxDocument = 16 << 20
	// MaxValues is the number of values and keys in it; of those facts, 520,000.
	MaxValues = 1_000_000
	// maxDocuments is how many bytes of earlier runs are read to look for those of a profile, of
	// plans or of certificates. A plan has 4 to 10 kB, and a certificate 30 to 400 kB.
	maxDocuments = 64 << 20
	// maxFiles is the number of files and folders of a record: three of each worker, and a
	// few more.
	maxFiles = 10_000
	// MaxLog is the size of the log of a worker, in bytes, and of any other file of the evidence
	// that is not compressed.
	MaxLog = 16 << 20
	// maxZstd is the size of a compressed file. The frames of the largest run have 144 GB.
	maxZstd = 256 << 30
	// sparseBytes of a record may be without space on the disk. Beyond them, a hundredth
	// must have some: holes, which nothing writes here, take minutes to read and no bytes to
	// send. (A file system may compress what the workers log.)
	sparseBytes = 1 << 30
	sparseShare = 100

	// maxFrame is the size of one message of frames, in bytes, which the receiver takes too.
	maxFrame = 64 << 20
	// maxWindow is the history that compressed data may refer to, in bytes. Each flush is
	// compressed alone.
	maxWindow = 8 << 20
	// Decompressed, a file has at most expandBytes and expandRatio times its size. Frames
	// have 4 to 12 times theirs, identities 2 to 3.
	expandBytes = 1 << 20
	expandRatio = 100
	// A compressed file has at most expandBytes and shrinkRatio times what it expands to:
	// blocks that hold nothing take long to read, and no bytes to send.
	shrinkRatio = 4
	// maxSources is the number of collectors and others besides the planned workers; and, apart
	// from those, of foreign senders that are read, which push by OTLP.
	maxSources = 1000
	// maxClasses is the number of classes of waits, of which there are 20.
	maxClasses = 100
	// maxGaps is the number of gaps between the sequences of one source.
	maxGaps = 10_000
	// around is for how long before and after a run frames and identities may be dated: other
	// senders' clocks may be an hour wrong, and workers may take hours to join.
	around = 24 * time.Hour
	// maxRun is the length of a run, with what comes after its load, such as the time until
	// its coordinator was restarted.
	maxRun = 30 * 24 * time.Hour
	// maxLength is the length of the interval of a foreign sender, in seconds, as it is
	// received.
	maxLength = 24*60*60 + 2
	// maxSecond is that of the year 10,000, of whose times differences can be computed.
	maxSecond = 253_402_300_800
	// maxPartEntries is the number of identities in one part of the ledger, of 100,000 on
	// average: hashes are spread evenly.
	maxPartEntries = 20 * maxIdentities
)

// allowance is what a timeline may cost. Memory and work of real frames are in proportion to
// their file, of which 1,000 workers take 1 byte in memory for each byte (docs/capacity.md).
type allowance struct {
	memory int64 // bytes that are kept, about
	work   int64 // in units of about 30 ns
}

const (
	memoryBytes = 192 << 20
	memoryRatio = 4
	workUnits   = 1 << 25
	workRatio   = 64

	// What is kept, in bytes.
	seriesBytes   = 900
	columnBytes   = 160
	secondBytes   = 200
	sourceBytes   = 600
	exemplarBytes = 120
	totalBytes    = 200
	slotBytes     = 250
	foreignBytes  = 120 // a point of another sender, while all those of a name are read

	// foreignWork is to spread a point of another sender over maxPushed seconds of some series.
	foreignWork = 50
)

// allowanceFor is that of a file of frames.
func allowanceFor(size int64) *allowance {
	return &allowance{memoryBytes + memoryRatio*size, workUnits + workRatio*size}
}

// spend takes from the allowance; nil is unlimited.
func (b *allowance) spend(memory, work int) {
	if b != nil {
		b.memory, b.work = b.memory-int64(memory), b.work-int64(work)
	}
}

// err is an error once the allowance is spent.
func (b *allowance) err() error {
	switch {
	case b == nil:
		return nil
	case b.memory < 0:
		return errors.New("they take more memory than those of a real run")
	case b.work < 0:
		return errors.New("they take longer to read than those of a real run")
	}
	return nil
}

// readDocument reads a document of the evidence, strictly, and checks it.
func readDocument(dir, name string, into any, check func() error) error {
	data, err := foreign.ReadIn(dir, filepath.Join(EvidenceDir, name), MaxDocument)
	if err == nil {
		err = foreign.DecodeJSON(data, MaxValues, into)
	}
	if err == nil {
		err = check()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
