package spec_test

import (
	"testing"

	"assay.dev/assay/internal/spec"
)

func TestAllows(t *testing.T) {
	f := spec.File{Targets: []string{"staging.example", "10.0.0.7", "fd00::7"}}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "localhost.": true, "localhost:8080": true,
		"127.0.0.1": true, "127.8.9.10:80": true, "::1": true, "[::1]": true, "[::1]:80": true, "::ffff:127.0.0.1": true,
		"staging.example": true, "Staging.Example.": true, "staging.example:443": true,
		"10.0.0.7": true, "10.0.0.7:3306": true, "[fd00:0::7]:80": true,
		"extra.example": true,

		"": false, ".": false, "staging.example.evil": false, "evil-staging.example": false, "example": false,
		"localhost.evil": false, "localhost@evil.example": false, "127.0.0.1.evil": false, "http://localhost": false,
		"127.1": false, "0.0.0.0": false, "::": false, "128.0.0.1": false, "10.0.0.70": false, "*": false, "a b": false,
	} {
		if got := f.Allows(host, []string{"extra.example:80", "", "*"}); got != want {
			t.Errorf("Allows(%q) = %v", host, got)
		}
	}
}
