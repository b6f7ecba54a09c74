package mysql

import (
	"crypto/sha256"
	"encoding/hex"

	"assay.dev/assay/internal/observe/collect/sampling"
)

// textDigest replaces the server's digest on MariaDB. It is the same for the text of a
// running statement and the DIGEST_TEXT of finished ones, so that samples and
// statement times can be joined.
func textDigest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256(normalise(text))
	return hex.EncodeToString(sum[:])[:sampling.DigestDigits]
}
