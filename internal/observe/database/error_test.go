package database_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/database"
)

func TestReason(t *testing.T) {
	for want, err := range map[string]error{
		"connection refused":                     errors.New("dial tcp 127.0.0.1:1: connect: connection refused"),
		"invalid response to the TLS request: h": errors.New("connect: invalid response to the TLS request: h"),
		"EOF!":                                   errors.New("read: EOF!"),
		"bad":                                    errors.New("bad"),
		"a: b":                                   errors.New("a: b"),
		"what it answers cannot be read":         fmt.Errorf("identify the server: %w", foreign.ErrUnreadable),
		"timed out":                              fmt.Errorf("ping: %w", context.DeadlineExceeded),
		"certificate signed by unknown authority":   fmt.Errorf("tls: %w", x509.UnknownAuthorityError{}),
		"x is not a region: use one like eu-west-1": fmt.Errorf("open: %w", &database.Error{Problem: "x is not a region: use one like eu-west-1"}),
	} {
		if got := database.Reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
