package sampling

import (
	"fmt"
	"strings"
	"testing"
)

func TestDigestsAreBounded(t *testing.T) {
	d := Digests{}
	if got := d.Label(""); got != "" {
		t.Errorf("no digest got the label %q", got)
	}
	for i := range 3 * MaxDigests {
		got := d.Label(fmt.Sprint(i))
		if want := fmt.Sprint(i); i < MaxDigests && got != want || i >= MaxDigests && got != Other {
			t.Fatalf("digest %d got the label %q", i, got)
		}
	}
	if got := d.Label("0"); got != "0" {
		t.Errorf("a known digest got the label %q", got)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{" SELECT ? ", "SELECT ?"},
		{"SELECT ?\n\tFROM  item\n", "SELECT ? FROM item"},
		{strings.Repeat("é", 200), strings.Repeat("é", (maxText-3)/2) + "..."},
	} {
		if got := Shorten(c.text); got != c.want {
			t.Errorf("shorten %q: %q", c.text, got)
		}
	}
}
