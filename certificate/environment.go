// SPDX-License-Identifier: Apache-2.0

package certificate

// Environment is the system and the tools of the run.
type Environment struct {
	Host       Host      `json:"host"`
	CoLocation []string  `json:"co_location"`
	Target     string    `json:"target"`
	Database   *Database `json:"database"`
	Tool       Tool      `json:"tool"`
	Thresholds Digest    `json:"thresholds" jsonschema:"optional"`
	Scripts    []Digest  `json:"scripts" jsonschema:"optional"`
	Seed       uint64    `json:"seed,string" jsonschema:"pattern=^[0-9]+$,optional"` // a string: it may exceed 2^53

	// SHA-256 of the database's flavour, version and settings and of the service's
	// builds: the certificate no longer holds once it changes. Null: neither is known.
	Fingerprint *string  `json:"fingerprint" jsonschema:"pattern=^sha256:[0-9a-f]{64}$"`
	Service     *Service `json:"service"` // builds that the service reports; null: none

	// Whether all instances of the service that were read under load reported these builds and
	// no others; missing: they were not read throughout.
	ServiceUnchanged *bool `json:"service_unchanged,omitempty"`
}

// Evidence ties the certificate to the record.
type Evidence struct {
	ManifestSHA256 string `json:"manifest_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
	Sealed         bool   `json:"sealed,omitempty"` // by the issuer's key, when the run ended; missing: nobody vouches for what the record holds
}

// Digest names a file and its content.
type Digest struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256" jsonschema:"pattern=^sha256:[0-9a-f]{64}$"`
}

// Tool is the program that made the record.
type Tool struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // commit of the build; empty: unknown
	Dirty    bool   `json:"dirty"`              // built from modified sources, or unknown
	Go       string `json:"go"`
	K6       string `json:"k6"`
}

// Host describes one machine.
type Host struct {
	Name   string `json:"name"`
	OS     string `json:"os"`
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`    // model
	CPUs   int    `json:"cpus"`   // available to this process
	Memory int64  `json:"memory"` // bytes
}

// Database describes the server and the settings that decide durability and speed.
type Database struct {
	Flavour     string            `json:"flavour"` // "mysql", "mariadb", "postgresql"
	Version     string            `json:"version"`
	Variables   map[string]string `json:"variables" jsonschema:"nullable"`
	Instruments []string          `json:"instruments,omitempty"` // turned on for the run and restored after it
}

// Service is what the system under test reports about itself.
type Service struct {
	Builds []Build `json:"builds"` // sorted by metric
}

// Build is a gauge like app_build_info, whose labels describe the build.
type Build struct {
	Metric string            `json:"metric"`
	Labels map[string]string `json:"labels" jsonschema:"nullable"` // "version", "revision", ...
}
