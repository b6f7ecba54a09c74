package exam

import (
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/wait"
)

// expectation is the bottleneck that the diagnosis of a case should name.
type expectation struct {
	name      string
	component string // the bottleneck
	statement string // in its evidence; empty: none
}

var expectations = []expectation{
	{"nothing", diagnose.None, ""},
	{"slow gateway", diagnose.Downstream, ""},
	{"binlog", wait.Binlog, ""},
	{"hot row", wait.RowLock, ""},
	{"DDL under load", "metadata lock", ""},
	{"pool of 2", diagnose.Pool, ""},
	{"pool per request", diagnose.ConnectionStorm, ""},
	{"CPU-starved database", diagnose.CPU, ""},
	{"missing index", diagnose.CPU, "FROM `orders` WHERE `customer` = ? examines"},
	{"generator", diagnose.Generator, ""},
	{"buffer pool of 16 MB", wait.BufferPool, ""},
	{"redo flush", wait.Commit, ""},
	{"slow wire", diagnose.Network, ""},
	{"stopped service", diagnose.Service, ""},
	{"bulk job", diagnose.Neighbour, ""},
	{"row held by a stranger", wait.RowLock, ""},
	{"global read lock", "metadata lock", ""},
}

// expected is the expectation of this name.
func expected(name string) expectation {
	return expectations[slices.IndexFunc(expectations, func(e expectation) bool { return e.name == name })]
}

// outcome is the expected verdict.
func (e expectation) outcome() verdict.Outcome {
	switch e.component {
	case diagnose.None:
		return verdict.Pass
	case diagnose.Generator:
		return verdict.Invalid
	}
	return verdict.Fail
}

// recordsDir holds the records of all cases, which -update replaces.
const recordsDir = "testdata/records"

func (e expectation) folder() string { return strings.ReplaceAll(e.name, " ", "-") }
