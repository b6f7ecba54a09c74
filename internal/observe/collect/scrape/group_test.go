package scrape

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func fixed(urls ...string) Instances {
	return func(context.Context) ([]string, error) { return urls, nil }
}

func TestOpenReportsTheList(t *testing.T) {
	t.Parallel()
	denied := errors.New("denied")
	g := NewGroup(func(context.Context) ([]string, error) { return nil, denied })
	defer g.Close()
	if err := g.Open(t.Context()); !errors.Is(err, denied) || g.Err() != nil {
		t.Errorf("%v, %v", err, g.Err())
	}
	refused := Single(New("http://192.0.2.1/metrics"))
	defer refused.Close()
	if err := refused.Open(t.Context()); err == nil || !errors.Is(err, refused.Err()) {
		t.Errorf("a host without permission: %v", err)
	}
}

func TestNumberOfInstances(t *testing.T) {
	t.Parallel()
	var urls []string
	for i := range maxInstances + 7 {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:1/%04d", i))
	}
	g := NewGroup(fixed())
	defer g.Close()
	for _, c := range []struct{ listed, read, left int }{{maxInstances, maxInstances, 0}, {maxInstances + 7, maxInstances, 7}, {3, 3, 0}, {0, 0, 0}} {
		if g.set(urls[:c.listed]); len(g.members) != c.read || g.Left() != c.left {
			t.Errorf("of %d instances %d are read, %d are not", c.listed, len(g.members), g.Left())
		}
	}
}

// A listed instance may be on any host, unlike a URL that a profile names.
func TestHostsOfInstances(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{
		"http://192.0.2.1:8080/metrics": true, "http://[2001:db8::1]:8080/metrics": true,
		"ftp://192.0.2.1/metrics": false, "192.0.2.1:8080": false, "http:///metrics": false, "": false,
	} {
		if err := Trusted(url).Err(); (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
	if New("http://192.0.2.1:8080/metrics").Err() == nil {
		t.Error("any host may be named")
	}
}
