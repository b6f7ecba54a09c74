package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Keys check who sends a message of a run. The run's token lets a client join, or send
// foreign metrics. A worker that has joined has a credential of its own: its messages
// cannot be taken for those of another worker, or of another run with the same token.
type Keys struct {
	run     string
	token   string
	foreign string // token for foreign metrics alone; empty: none
}

// NewKeys returns the keys of a run.
func NewKeys(run, token string) Keys { return Keys{run: run, token: token} }

// WithForeignToken also accepts a token that lets its holder send foreign metrics, and not
// join: a run that starts its own workers admits no others.
func (k Keys) WithForeignToken(token string) Keys {
	k.foreign = token
	return k
}

// Token is the run's token.
func (k Keys) Token() string { return k.token }

// Credential is that of a worker. The same worker always has the same one, so that a
// coordinator that was restarted still knows it.
func (k Keys) Credential(number int, identity string) string {
	return fmt.Sprintf("%d.%s.%s", number, identity, k.sign(number, identity))
}

// Proof shows that its writer knew the run's token, which it does not tell.
func (k Keys) Proof() string { return k.mac("assay run\x00%s", k.run) }

func (k Keys) sign(number int, identity string) string {
	return k.mac("assay worker\x00%s\x00%d\x00%s", k.run, number, identity)
}

func (k Keys) mac(format string, args ...any) string {
	mac := hmac.New(sha256.New, []byte(k.token))
	fmt.Fprintf(mac, format, args...)
	return hex.EncodeToString(mac.Sum(nil))
}

// Sender is who sent a request.
type Sender struct {
	Worker   bool
	MayJoin  bool   // holds the run's token
	Number   int    // number of a worker
	Identity string // identity of a worker
}

// Sender finds who a bearer token belongs to: a worker, or else who holds the run's
// token; false: nobody. It takes the same time for every wrong one.
func (k Keys) Sender(bearer string) (Sender, bool) {
	if bearer == "" {
		return Sender{}, false
	}
	// Digests, whose length says nothing of the token's.
	got, want := sha256.Sum256([]byte(bearer)), sha256.Sum256([]byte(k.token))
	if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return Sender{MayJoin: true}, true
	}
	if want = sha256.Sum256([]byte(k.foreign)); k.foreign != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return Sender{}, true
	}
	parts := strings.Split(bearer, ".")
	if len(parts) != 3 {
		return Sender{}, false
	}
	number, err := strconv.Atoi(parts[0])
	if err != nil || !hmac.Equal([]byte(parts[2]), []byte(k.sign(number, parts[1]))) {
		return Sender{}, false
	}
	return Sender{Worker: true, Number: number, Identity: parts[1]}, true
}

// Bearer is the token of a request; empty: none.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") { // RFC 9110, section 11.1
		return ""
	}
	return token
}
