// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"regexp"
)

// DSN is a parsed data source name of any family.
type DSN struct {
	User, Password string
	Address        string   // host:port of the first server; empty: a local socket file
	Public         string   // the DSN without secrets, safe to print and record
	Extensions     []string // parameters that only Assay knows: a script cannot open such a DSN itself
}

// ErrNoDSN is returned for an empty DSN.
var ErrNoDSN = errors.New("read DSN: it is empty")

// awsRegion matches names of AWS regions, such as eu-west-1.
var awsRegion = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// IsRegion reports whether a name has the form of an AWS region.
func IsRegion(name string) bool { return awsRegion.MatchString(name) }
