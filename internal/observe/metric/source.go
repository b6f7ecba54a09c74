// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"strconv"
	"strings"
)

// Sources of frames, as Frame.Source names them. Workers are numbered
// (WorkerSource); a foreign sender of OTLP is "otlp/" and its service name, whatever
// the number of its instances (IsForeign).
const (
	SourceWorker     = "worker"
	SourceDatabase   = "database"
	SourceService    = "service"
	SourceHost       = "host"
	SourceLag        = "lag"        // lag of replicas and of binlog readers
	SourceReceiver   = "receiver"   // the coordinator's own, of what it receives
	SourceGauges     = "gauges"     // gauges of the service that the profile names
	SourceNeighbours = "neighbours" // other services that the profile's abort conditions watch
	SourceStub       = "stub"       // stubs that stand in for services which the system under test calls (StubSource)
	SourceForeign    = "otlp"       // in the catalogue only: senders other than this program, by OTLP

	// Catalogue sources that no frame has: k6's metrics are sent by the workers, the
	// ledger is compared after the run, the coordinator's facts are about all of it, and some
	// SLOs are on how whole stages of the load went.
	SourceK6          = "k6"
	SourceLedger      = "ledger"
	SourceCoordinator = "coordinator"
	SourceStages      = "stages"
)

const (
	workerPrefix  = SourceWorker + "/"
	foreignPrefix = SourceForeign + "/"
	stubPrefix    = SourceStub + "/"
)

// WorkerSource names the frames of worker i, from 0: "worker/0".
func WorkerSource(i int) string { return workerPrefix + strconv.Itoa(i) }

// IsWorker reports whether a frame of this source comes from a worker.
func IsWorker(source string) bool { return strings.HasPrefix(source, workerPrefix) }

// StubSource names the frames of a stub: "stub/bank".
func StubSource(name string) string { return stubPrefix + name }

// IsStub reports whether a frame of this source comes from a stub.
func IsStub(source string) bool { return strings.HasPrefix(source, stubPrefix) }

// IsForeign reports whether the points of a frame of this source come from another
// program, by OTLP.
func IsForeign(source string) bool { return strings.HasPrefix(source, foreignPrefix) }
