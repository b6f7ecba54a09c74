package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

// dialTimeout bounds the opening of one connection.
const dialTimeout = 5 * time.Second

const accessHint = "set ASSAY_KAFKA like kafka://user:password@kafka.example:9093?tls=true&sasl=scram-sha-512 (or scram-sha-256, plain)"

// Access is how to connect: a secret.
type Access struct {
	broker    string // host:port to connect to first; empty: those that the profile or an option names
	tls       bool
	mechanism sasl.Mechanism // nil: none
}

// FromEnvironment reads ASSAY_KAFKA.
func FromEnvironment() (Access, error) { return ParseAccess(os.Getenv("ASSAY_KAFKA")) }

// ParseAccess parses kafka://[user:password@][host:port][?tls=true][&sasl=MECHANISM];
// empty: no credentials, no TLS. Its errors contain no part of the text.
func ParseAccess(text string) (a Access, err error) {
	defer foreign.Guard(&err)
	if text == "" {
		return a, nil
	}
	bad := func(problem string) (Access, error) {
		return Access{}, hint.With(errors.New("ASSAY_KAFKA "+problem), accessHint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "kafka" || u.Path != "" || u.Opaque != "" || u.Fragment != "" {
		return bad("is not a URL of the form kafka://user:password@host:port")
	}
	if u.Host != "" {
		if _, _, err := net.SplitHostPort(u.Host); err != nil {
			return bad("has a broker that is not host:port")
		}
		a.broker = u.Host
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("has a malformed query")
	}
	name := "scram-sha-512"
	for key, values := range options {
		switch {
		case len(values) > 1:
			return bad("has an option twice")
		case key == "tls" && slices.Contains([]string{"true", "false"}, values[0]):
			a.tls = values[0] == "true"
		case key == "sasl":
			name = values[0]
		default:
			return bad("has an option other than tls=true, tls=false and sasl")
		}
	}
	if u.User == nil {
		if options.Has("sasl") {
			return bad("has a SASL mechanism, but no user")
		}
		return a, nil
	}
	user := u.User.Username()
	password, ok := u.User.Password()
	if user == "" || !ok {
		return bad("has no user or no password")
	}
	switch name {
	case "scram-sha-512":
		a.mechanism = scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	case "scram-sha-256":
		a.mechanism = scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "plain":
		if !a.tls {
			return bad("would send the password unencrypted: sasl=plain needs tls=true")
		}
		a.mechanism = plain.Auth{User: user, Pass: password}.AsMechanism()
	default:
		return bad("has an unknown SASL mechanism")
	}
	return a, nil
}

// NamesBroker reports whether it names the broker to connect to first, instead of the
// profile's.
func (a Access) NamesBroker() bool { return a.broker != "" }

// Brokers are the addresses to connect to first: that of the environment, else the named
// ones.
func (a Access) Brokers(named []string) []string {
	if a.broker != "" {
		return []string{a.broker}
	}
	return named
}

// Options are those of a client that connects to these brokers.
func (a Access) Options(brokers []string) ([]kgo.Opt, error) {
	seeds := a.Brokers(brokers)
	if len(seeds) == 0 {
		return nil, hint.With(errors.New("no Kafka broker is named"), "name one, like 127.0.0.1:9092")
	}
	for _, s := range seeds {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return nil, hint.With(fmt.Errorf("broker %q is not host:port", s), "write for example 127.0.0.1:9092")
		}
	}
	options := []kgo.Opt{kgo.SeedBrokers(seeds...), kgo.ClientID("assay"), kgo.DialTimeout(dialTimeout)}
	if a.tls {
		options = append(options, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if a.mechanism != nil {
		options = append(options, kgo.SASL(a.mechanism))
	}
	return options, nil
}
