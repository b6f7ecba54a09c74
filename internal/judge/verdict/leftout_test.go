package verdict

import (
	"os"
	"strings"
	"testing"
)

// Every way in which something is left out of a verdict is in the page on how one could cheat.
func TestGamingNamesEveryOmission(t *testing.T) {
	page, err := os.ReadFile("../../../docs/gaming.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range omissions {
		if !strings.Contains(string(page), "`"+o.reason+"`") {
			t.Errorf("docs/gaming.md does not name %s", o.reason)
		}
	}
}
