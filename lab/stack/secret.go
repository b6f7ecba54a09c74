package stack

import (
	"log/slog"

	"assay.dev/assay/internal/mask"
)

// Secret is a password. It appears in no log line and no error; only the state
// file, which no other user may read, holds it in clear.
type Secret string

// String hides it from fmt.
func (Secret) String() string { return "***" }

// GoString hides it from %#v.
func (Secret) GoString() string { return "***" }

// LogValue hides it from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

func (s Secret) reveal() string {
	mask.Add(string(s))
	return string(s)
}
