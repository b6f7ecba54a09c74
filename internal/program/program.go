// Package program finds the other programs of a build: assay, which makes the load, and
// assay-lab, which runs the local stack.
package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"assay.dev/assay/internal/hint"
)

// Names of the programs.
const (
	assay = "assay"
	lab   = "assay-lab"
)

// Environment variables that name the programs. A program sets its own for those that it
// starts.
const (
	Env    = "ASSAY_PROGRAM"
	LabEnv = "ASSAY_LAB"
)

// Assay is the path of assay: this program, if that is assay or a test, or else that of Env,
// or the one beside this program, or on the PATH.
func Assay() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if filepath.Base(self) != lab {
		return self, nil
	}
	return find(Env, assay, self)
}

// Lab is the path of assay-lab: that of LabEnv, or the one beside this program, or on the
// PATH.
func Lab() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return find(LabEnv, lab, self)
}

func find(env, name, self string) (string, error) {
	if path := os.Getenv(env); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", hint.With(fmt.Errorf("%s: %w", env, errors.Unwrap(err)), "set it to the program "+name+", or remove it")
		}
		return path, nil
	}
	if beside := filepath.Join(filepath.Dir(self), name); executable(beside) {
		return beside, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", hint.With(fmt.Errorf("the program %s is neither beside %s nor on the PATH", name, filepath.Base(self)), "build it: make build; or set "+env+" to its path")
}

func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
