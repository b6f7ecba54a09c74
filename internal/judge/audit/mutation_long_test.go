//go:build long

package audit

import "testing"

func TestLongMutations(t *testing.T) { mutations(t, 0, 10_000) }
