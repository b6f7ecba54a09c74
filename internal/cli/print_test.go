package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestPercentOf(t *testing.T) {
	for text, want := range map[string]float64{"3%": 0.03, " 0.5 % ": 0.005, "100%": 1} {
		if got, err := percent(t, text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "%", "3", "0.03", "0%", "-3%", "NaN%", "Inf%", "101%", "three%", "3%%"} {
		if got, err := percent(t, text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func percent(t *testing.T, text string) (float64, error) {
	t.Helper()
	c := &cobra.Command{}
	c.Flags().String("tolerance", "3%", "")
	if err := c.Flags().Set("tolerance", text); err != nil {
		t.Fatal(err)
	}
	return PercentOf(c, "tolerance")
}
