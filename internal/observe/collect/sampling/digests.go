package sampling

const (
	// MaxDigests bounds the values of the label digest; later ones become Other. Known
	// values are never evicted, so that a label keeps its meaning.
	MaxDigests = 50
	// Other labels all statements that have no label of their own.
	Other = "other"
	// DigestDigits is the length of a label that is a hash, in hexadecimal digits: 64 bits.
	DigestDigits = 16
	// TopDigests is how many statements of a second get a label of their own, by time.
	TopDigests = 20
)

// Digests bounds the distinct values of the label digest over a run.
type Digests map[string]struct{}

// Label returns the digest, or Other once there are too many.
func (d Digests) Label(digest string) string {
	if digest == "" {
		return ""
	}
	if _, ok := d[digest]; !ok {
		if len(d) >= MaxDigests {
			return Other
		}
		d[digest] = struct{}{}
	}
	return digest
}
