package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay/harness/load/fleet"
)

// dialTimeout bounds the look whether something listens at the target.
const dialTimeout = 3 * time.Second

// checkTarget refuses a target that is malformed, not allowed or not there.
func (o Options) checkTarget(ctx context.Context) error {
	u, err := url.Parse(o.Target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &Error{fmt.Errorf("target %q is not an http or https URL", o.Target), "like --target http://127.0.0.1:8080"}
	}
	host := u.Hostname()
	if !o.File.Allows(host, o.AllowHosts) {
		return &Error{
			fmt.Errorf("target host %s is not allowed: a load test aimed at the wrong system is an outage", host),
			fmt.Sprintf("list it in \"targets\" of %s, or name it again: --allow-target %s", o.File.Path, host),
		}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return &Error{fmt.Errorf("target %s cannot be reached: %s", o.Target, lastPart(err)), "start the service, or name another one with --target"}
	}
	return conn.Close()
}

// lastPart is the innermost reason of a wrapped error.
func lastPart(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

// preflight finds what is missing before anything is written or sent.
func (o Options) preflight(ctx context.Context) error {
	if err := o.checkTarget(ctx); err != nil {
		return err
	}
	if o.DSN == "" && slices.Contains(o.Profile.Needs, "db") {
		return &Error{fmt.Errorf("profile %s needs the database, and none is named", o.Profile.Name), "set ASSAY_DB to its DSN"}
	}
	env := []string{"ASSAY_TARGET=" + o.Target, "ASSAY_RUN=" + o.ID, "ASSAY_WORKER=0", fmt.Sprintf("ASSAY_SEED=%d", o.Seed)}
	err := fleet.CheckScript(ctx, o.Executable, o.script(), env)
	var script *fleet.ScriptError
	if errors.As(err, &script) {
		return &Error{script, script.Hint}
	}
	return err
}
