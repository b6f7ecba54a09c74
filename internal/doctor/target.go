package doctor

import (
	"fmt"
	"net/url"
	"strings"

	"assay.dev/assay/internal/doctor/probe"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/spec"
)

// ownSecret is where a secret of the script belongs, as the target is in the certificate.
const ownSecret = "a script reads what it logs in with from a file: open('token.txt')"

// parseTarget parses a target before anything is sent to it. It returns nil and a finding
// if the target is malformed or not allowed.
func parseTarget(target string, file spec.File, allowed []string) (*url.URL, Finding) {
	if strings.Contains(target, "@") {
		// A password would appear in the record, and on the command line of every worker.
		return nil, fail(CheckTarget, "a URL with a user or password", "a URL without them",
			"the target's URL contains a user or password", "omit them, like --target http://127.0.0.1:8080; "+ownSecret)
	}
	if strings.ContainsAny(target, "?#") {
		// So would a token; and scripts add their paths to the target.
		return nil, fail(CheckTarget, "a URL with a query or fragment", "a base URL",
			"the target's URL has a query or fragment", "omit it, like --target http://127.0.0.1:8080; "+ownSecret)
	}
	if mask.Holds(target) {
		return nil, fail(CheckTarget, "a URL with a secret", "a URL without one",
			"the target's URL holds a secret, in its path or of the environment", "omit it, like --target http://127.0.0.1:8080; "+ownSecret)
	}
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fail(CheckTarget, "something else", "a URL", // which is not shown: a secret may be in any part of it
			"the target is not an http or https URL", "like --target http://127.0.0.1:8080")
	}
	if host := u.Hostname(); !file.Allows(host, allowed) {
		return nil, fail(CheckTarget, target, "a host that is allowed",
			fmt.Sprintf("target host %s is not allowed: a load test aimed at the wrong system is an outage", host),
			fmt.Sprintf("list it in \"targets\" of %s, or allow it with --allow-target %s", file.Path, host))
	}
	return u, Finding{}
}

// TargetURL checks the target's URL only, and sends nothing. There is no finding if load
// may be sent there.
func TargetURL(s Subject) Findings {
	if u, refused := parseTarget(s.Target, s.File, s.AllowHosts); u == nil {
		return Findings{refused}
	}
	return nil
}

// scriptOptions are the connection options of all scripts together.
type scriptOptions struct {
	skipVerify bool            // no script verifies the target's certificate
	clientTLS  bool            // a script has a client certificate
	mapsHosts  bool            // a script maps names to addresses itself
	reconnects map[string]bool // by profile
}

// target judges the connection to the target.
func target(u *url.URL, t probe.Target, c scriptOptions) Finding {
	at := u.String()
	needed := "reachable and responding"
	// A script with options of its own may succeed where the probe did not.
	judge := func(ownOptions bool, observed, why, remedy string) Finding {
		if ownOptions {
			return warn(CheckTarget, observed, needed, why, remedy)
		}
		return fail(CheckTarget, observed, needed, why, remedy)
	}
	switch {
	case t.DNS != nil:
		return judge(c.mapsHosts, reason(t.DNS), fmt.Sprintf("target %s cannot be reached: DNS: %s", at, reason(t.DNS)),
			"check how the name is resolved: getent hosts "+u.Hostname())
	case t.Dial != nil:
		return judge(c.mapsHosts, reason(t.Dial), fmt.Sprintf("target %s cannot be reached: %s", at, reason(t.Dial)),
			"start the service, or name another one with --target")
	case t.TLS != nil:
		return judge(c.clientTLS, "TLS: "+reason(t.TLS), fmt.Sprintf("target %s cannot be reached: TLS handshake: %s", at, reason(t.TLS)),
			"check it with: openssl s_client -connect "+u.Hostname()+":"+probe.Port(u))
	case t.Trust != nil && c.skipVerify:
		why := fmt.Sprintf("the certificate of target %s is not trusted (%s), and the script does not verify it", at, reason(t.Trust))
		f := warn(CheckTarget, reason(t.Trust), needed, why, "leave insecureSkipTLSVerify out of the script's options")
		f.Limitation = why
		return f
	case t.Trust != nil:
		return fail(CheckTarget, reason(t.Trust), needed, fmt.Sprintf("the certificate of target %s is not trusted: %s", at, reason(t.Trust)),
			"name its authority: export SSL_CERT_FILE=ca.pem; or set insecureSkipTLSVerify in the script's options")
	case t.HTTP != nil:
		return warn(CheckTarget, "no HTTP: "+reason(t.HTTP), needed,
			fmt.Sprintf("target %s does not respond in HTTP: %s", at, reason(t.HTTP)), "check its response: curl -v "+u.JoinPath("metrics").String())
	}
	return pass(CheckTarget, at+" answers", needed)
}
