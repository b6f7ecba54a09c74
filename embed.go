// Package assay holds the files that the program brings along, for a new
// project (assay init).
package assay

import "embed"

// Files are the reference scenarios, their profiles and stubs, the dashboards, and what
// Docker Compose needs, by their paths in this repository.
//
//go:embed thresholds.json scenarios stubs dashboards docker-compose.yml Dockerfile .dockerignore docker
var Files embed.FS
