package mysql

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// digestDigits is how much of a digest is its label: 64 bits.
	digestDigits = 16
	// maxDigests bounds the label; what comes later is otherDigest. It keeps
	// what it has: a label that changed its meaning would be worse.
	maxDigests  = 50
	otherDigest = "other"
)

// digests bounds the distinct values of the label digest over a run.
type digests map[string]struct{}

// label returns the digest, or "other" once there are too many.
func (d digests) label(digest string) string {
	if digest == "" {
		return ""
	}
	if _, ok := d[digest]; !ok {
		if len(d) >= maxDigests {
			return otherDigest
		}
		d[digest] = struct{}{}
	}
	return digest
}

// textDigest is the digest that stands in on MariaDB: it makes the same of the
// text of a running statement and of the DIGEST_TEXT of finished ones, so that
// samples and statement times can be joined.
func textDigest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256(normalise(text))
	return hex.EncodeToString(sum[:])[:digestDigits]
}
