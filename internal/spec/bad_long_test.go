//go:build long

package spec_test

import "testing"

func TestLongTwoMistakesCauseNoThirdError(t *testing.T) { twoMistakes(t, 1) }
