package replication

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"assay.dev/assay/internal/hint"
)

// The environment variables that name Galera's library and arbitrator, where they are not
// in the usual places.
const (
	ProviderEnv = "ASSAY_GALERA"
	GarbdEnv    = "ASSAY_GARBD"
)

// Provider is the path of Galera's library, which MariaDB loads.
func Provider() (string, error) {
	paths := []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib/galera-4/libgalera_smm.so"}
	if named := os.Getenv(ProviderEnv); named != "" {
		paths = []string{named}
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return filepath.Abs(p)
		}
	}
	return "", hint.With(errors.New("no Galera library (libgalera_smm.so) found"), "install it, e.g. with apt-get install galera-4, or name it in "+ProviderEnv)
}

// Garbd is the path of Galera's arbitrator.
func Garbd() (string, error) {
	name := "garbd"
	if named := os.Getenv(GarbdEnv); named != "" {
		name = named
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", hint.With(fmt.Errorf("no Galera arbitrator found: %w", err), "install it, e.g. with apt-get install galera-arbitrator-4, or name it in "+GarbdEnv)
	}
	return filepath.Abs(path)
}
