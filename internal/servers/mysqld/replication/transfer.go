package replication

import (
	_ "embed"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// transferMethod names the program that Galera runs on both sides when a node joins,
// wsrep_sst_METHOD: even when the node only needs the writes that it missed.
const transferMethod = "assay"

//go:embed wsrep_sst_assay.sh
var transferProgram []byte

// WriteTransfer writes that program into a folder, and returns the variable of the
// environment by which a server finds it.
func WriteTransfer(dir string) (variable string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := renameio.WriteFile(filepath.Join(dir, "wsrep_sst_"+transferMethod), transferProgram, 0o700); err != nil {
		return "", err
	}
	return "PATH=" + dir + ":" + os.Getenv("PATH"), nil
}
