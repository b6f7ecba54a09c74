package signature

import (
	"strings"
	"testing"
)

// A seal is of one run, manifest and key, and is no certificate's signature, nor the other
// way round.
func TestSeal(t *testing.T) {
	for _, kind := range Kinds {
		key, other := pair(t, kind), pair(t, kind)
		s := NewSealer(&key)
		seal, err := s.Seal("a", []byte("manifest"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(seal, "a", []byte("manifest")); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		certificate, err := Sign(key, []byte(`{"run": "a"}`), digestOf("manifest"))
		if err != nil {
			t.Fatal(err)
		}
		for want, err := range map[string]error{
			"another record":    s.Verify(seal, "b", []byte("manifest")),
			"seals another":     s.Verify(seal, "a", []byte("manifests")),
			"another key":       NewSealer(&other).Verify(seal, "a", []byte("manifest")),
			"not a sigstore":    s.Verify(nil, "a", []byte("manifest")),
			"predicate type is": s.Verify(certificate, "a", []byte("manifest")),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", kind, err, want)
			}
		}
		if _, err := Open(seal); err == nil || !strings.Contains(err.Error(), "predicate type is") {
			t.Errorf("%s: a seal as a certificate's signature: %v", kind, err)
		}
	}
	if NewSealer(nil) != nil {
		t.Error("there is a sealer without a key")
	}
}

// The files that a statement covers are read back, each with its content's digest.
func TestFiles(t *testing.T) {
	key := pair(t, Ed25519)
	data, err := Sign(key, []byte(certificate), digestOf("manifest"), FileOf("certificate.md", []byte("a")), FileOf("headroom/search.json", []byte("b")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(data)
	if err != nil || b.Verify(key.Public()) != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"certificate.md a": true, "headroom/search.json b": true, "certificate.md b": false, "certificate.html a": false} {
		file, content, _ := strings.Cut(name, " ")
		if got := b.Statement.Covers(file, []byte(content)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if data, err := Sign(key, []byte(certificate), digestOf("manifest"), FileOf("../x", nil)); err == nil {
		t.Errorf("a file outside the folder is signed: %s", data)
	}
}
