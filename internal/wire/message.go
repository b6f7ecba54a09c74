package wire

import (
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strconv"
	"time"
)

// Paths of the coordinator.
const (
	PathJoin         = "/v1/join"         // POST Hello; Assignment when all workers have joined, or 202 with Waiting: repeat the request
	PathArchive      = "/v1/archive"      // GET; the script as `k6 archive` makes it
	PathReady        = "/v1/ready"        // POST Ready; 204, or 4xx with the reason why the run cannot start
	PathStart        = "/v1/start"        // POST StartRequest; StartResponse once every worker is ready, or 202: repeat the request
	PathMetrics      = "/v1/metrics"      // POST OTLP protobuf
	PathAcknowledged = "/v1/acknowledged" // POST ledger entries; headers name source and sequence
	PathHeartbeat    = "/v1/heartbeat"    // POST; answered by Pulse
	PathLog          = "/v1/log"          // POST a part of the worker's log; a header names its offset
	PathExit         = "/v1/exit"         // POST Exit, the worker's last message
)

// Headers.
const (
	HeaderSource   = "Assay-Source"   // source of acknowledged entries
	HeaderSequence = "Assay-Sequence" // sequence number of acknowledged entries: 1, 2, 3, ... by source
	HeaderOffset   = "Assay-Offset"   // offset of a part of the log, bytes
	HeaderClock    = "Assay-Clock"    // from a worker's parent process to its k6: Clock as JSON
)

// Environment variables of a worker and of a coordinator's pod.
const (
	EnvJoinToken = "ASSAY_JOIN_TOKEN" // the run's token
	EnvJoin      = "ASSAY_JOIN"       // address of the coordinator, where a command line cannot hold it
	EnvWorker    = "ASSAY_WORKER"     // number of the worker that a command starts, from 0
	EnvPod       = "ASSAY_POD"        // NAMESPACE/NAME, in a cluster
	EnvPodName   = "ASSAY_POD_NAME"   // NAME
	EnvNode      = "ASSAY_NODE"       // node that the pod runs on
	EnvImage     = "ASSAY_IMAGE"      // with this program, for pods that a coordinator starts
)

// LostAfter is how long worker and coordinator wait for each other. A worker without an
// answer for this long ends its load, and a worker that the coordinator has not heard
// from for this long is lost (ours). A shorter interruption of the network, or a restart
// of the coordinator, harms no run.
const LostAfter = 30 * time.Second

// MaxSetup bounds setup()'s result, bytes of JSON.
const MaxSetup = 16 << 20

// Tool is the build of a program. Worker and coordinator must be of the same build.
type Tool struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // commit; empty: unknown
	Dirty    bool   `json:"dirty,omitempty"`    // built from modified sources
}

// Machine is where a worker runs, and what it may use there.
type Machine struct {
	Name        string `json:"name"`
	OS          string `json:"os"`
	Kernel      string `json:"kernel"`
	CPU         string `json:"cpu"`         // model
	CPUs        int    `json:"cpus"`        // by affinity and quota
	Memory      int64  `json:"memory"`      // bytes of the machine
	Available   int64  `json:"available"`   // bytes, within the cgroup's limit; negative: unknown
	Descriptors uint64 `json:"descriptors"` // limit on open files; 0: unknown
	Boot        string `json:"boot"`        // id of the kernel's boot: the same for all containers of a machine; empty: unknown
	// Namespace is the namespace of process ids: two processes with the same one see each
	// other's ids; empty: unknown.
	Namespace string `json:"namespace"`
	Pod       string `json:"pod,omitempty"`  // NAMESPACE/NAME; empty: not in a cluster
	Node      string `json:"node,omitempty"` // node that the pod runs on
}

// Hello is what a worker says when it joins.
type Hello struct {
	Identity string  `json:"identity"` // random, of this process
	PID      int     `json:"pid"`      // process id of the worker's parent process
	Tool     Tool    `json:"tool"`
	Machine  Machine `json:"machine"`
}

// Waiting says how many workers have joined.
type Waiting struct {
	Joined int `json:"joined"`
	Of     int `json:"of"`
}

// Assignment is a worker's share of a run.
type Assignment struct {
	Run        string          `json:"run"`
	Source     string          `json:"source"` // "worker/0", ...
	Number     int             `json:"number"` // from 0
	Of         int             `json:"of"`     // number of workers
	Credential string          `json:"credential"`
	Archive    string          `json:"archive"`            // sha256 of the script's archive, in hex
	Config     json.RawMessage `json:"config"`             // k6's configuration file
	Session    json.RawMessage `json:"session"`            // session of k6's output (k6.Session)
	Segment    string          `json:"segment"`            // k6 execution segment, "0:1/2"
	Sequence   string          `json:"sequence,omitempty"` // k6 execution segment sequence; empty for one worker
	Setup      bool            `json:"setup"`              // this worker runs setup() and teardown()
	SystemTags []string        `json:"system_tags"`
	Target     string          `json:"target"` // base URL, ASSAY_TARGET
	Seed       uint64          `json:"seed"`   // ASSAY_SEED
	Outputs    []string        `json:"outputs,omitempty"`
	Database   string          `json:"database,omitempty"` // ASSAY_DB of a script that needs the database
	Nodes      string          `json:"nodes,omitempty"`    // ASSAY_DB_NODES of a script that needs the database's nodes
	Env        []string        `json:"env,omitempty"`      // further variables of the script, NAME=value
}

// Ready reports that a worker has initialised its script and VUs.
type Ready struct {
	Metrics map[string]string `json:"metrics"`           // registered metrics: name -> "trend", "rate", "counter", "gauge"
	Archive string            `json:"archive,omitempty"` // sha256 of the archive that it runs, in hex
	PID     int               `json:"pid,omitempty"`     // process id of k6
}

// StartRequest reports that a worker waits for the common start.
type StartRequest struct {
	Setup json.RawMessage `json:"setup,omitempty"` // result of setup(), from the worker that ran it
}

// StartResponse is the start signal.
type StartResponse struct {
	T0    time.Time       `json:"t0"`             // by the coordinator's clock
	Local time.Time       `json:"local,omitzero"` // the same instant by the clock of the worker's machine; zero: as T0
	Setup json.RawMessage `json:"setup,omitempty"`
}

// Pulse is the response to a heartbeat.
type Pulse struct {
	Received time.Time `json:"received"`       // by the coordinator's clock
	Answered time.Time `json:"answered"`       // likewise
	Stop     string    `json:"stop,omitempty"` // why the worker is to end its load; empty: it goes on
}

// Exit is how a worker's k6 ended.
type Exit struct {
	Status string `json:"status"`          // "0", "107", "signal: killed", ...
	Error  string `json:"error,omitempty"` // what the worker itself could not do; empty: nothing
}

// StatusOf is the Status of a process that has ended with an error of os/exec.
func StatusOf(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}

// Clock is a worker's clock compared with the coordinator's.
type Clock struct {
	OffsetMs    float64 `json:"offset_ms"`     // offset of the machine's clock; positive: ahead
	DriftMs     float64 `json:"drift_ms"`      // change of the offset since the start signal; 0 before it
	RoundTripMs float64 `json:"round_trip_ms"` // to the coordinator and back; the offset is known to within half of it
}

// Read reads the message of a request. If it is malformed it answers so, and returns false.
func Read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if err != nil {
		http.Error(w, "malformed message: "+err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// Respond answers with a message. Who does not get it asks again.
func Respond(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content)
}
