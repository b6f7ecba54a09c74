package localstack

// DefaultDir is the folder of the stack, below the working directory.
const DefaultDir = ".assay"

// Parts selects components of the stack.
type Parts struct {
	Database bool `json:"database"`
	Influx   bool `json:"influx"`
	Target   bool `json:"target"`
}

// Setup is the configuration of a stack that experiments change.
type Setup struct {
	Database []string `json:"database"` // additional options of the server
	Target   []string `json:"target"`   // arguments of the reference service
	Ports    Ports    `json:"ports"`
	Topology Topology `json:"topology,omitempty"`
	Proxy    bool     `json:"proxy,omitempty"`
}

// Ports of a stack.
type Ports struct {
	Database int `json:"database"`
	Target   int `json:"target"`
	Influx   int `json:"influx"`
}

// Topology is which database nodes a stack has, and how they replicate.
type Topology string

// The topologies.
const (
	Single       Topology = "single"        // node a
	Replica      Topology = "replica"       // a is written, b follows a's binlog and is only read
	MultiPrimary Topology = "multi-primary" // a and b are written; an arbitrator votes
)

// Options of a stack that is started. Zero fields take the value of a stack that is already
// up, or else the default.
type Options struct {
	Topology   Topology `json:"topology"`
	Proxy      bool     `json:"proxy"`       // HAProxy before the database nodes, which the reference service then uses
	TargetArgs []string `json:"target_args"` // further arguments of the reference service
}

// State is what runs need to know of a stack.
type State struct {
	Down       string   `json:"down"`        // the component that is down, and how; empty: all but InfluxDB are up
	Ready      bool     `json:"ready"`       // the database has its schema and users
	Target     string   `json:"target"`      // base URL of the reference service
	TargetArgs []string `json:"target_args"` // arguments of the reference service that runs; nil: none runs
	Collector  string   `json:"collector"`   // DSN for the collector, of node a; a secret
	NodesDSN   string   `json:"nodes_dsn"`   // DSNs of all nodes and of the proxy, as ASSAY_DB_NODES has them; a secret
	Nodes      []string `json:"nodes"`       // names of the database nodes
	InfluxURL  string   `json:"influx_url"`  // empty: no InfluxDB runs
	InfluxAuth string   `json:"influx_auth"` // USER:PASSWORD; a secret
	Setup      Setup    `json:"setup"`
	Secrets    []string `json:"secrets"` // the passwords in the texts above
}
