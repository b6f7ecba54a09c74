package sampling

const (
	// MaxDigests bounds the label digest; what comes later is Other. It keeps
	// what it has: a label that changed its meaning would be worse.
	MaxDigests = 50
	// Other is the digest of statements that have no label of their own.
	Other = "other"
	// TopDigests have a label of their own in a second, by their time in it.
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
