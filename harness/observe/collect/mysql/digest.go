package mysql

import (
	"crypto/sha256"
	"encoding/hex"
)

// digestDigits is how much of a digest is its label: 64 bits.
const digestDigits = 16

// textDigest replaces the digest on MariaDB: it is the same for the text of a running
// statement and for the DIGEST_TEXT of finished ones, so that samples and statement
// times can be joined.
func textDigest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256(normalise(text))
	return hex.EncodeToString(sum[:])[:digestDigits]
}
