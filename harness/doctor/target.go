package doctor

import (
	"fmt"
	"net/url"
	"strings"

	"assay/harness/doctor/probe"
	"assay/harness/spec"
)

// mayTarget refuses a target that is malformed, or that load must not go to,
// before anything is sent there.
func mayTarget(target string, file spec.File, allowed []string) (*url.URL, Finding) {
	if strings.Contains(target, "@") {
		// It would stand in the record, and on the command line of every worker.
		return nil, bad(CheckTarget, "a URL with a user or password", "a URL without",
			"the target's URL holds a user or password", "leave it out, like --target http://127.0.0.1:8080")
	}
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, bad(CheckTarget, target, "a URL",
			fmt.Sprintf("target %q is not an http or https URL", target), "like --target http://127.0.0.1:8080")
	}
	if host := u.Hostname(); !file.Allows(host, allowed) {
		return nil, bad(CheckTarget, target, "a host that is allowed",
			fmt.Sprintf("target host %s is not allowed: a load test aimed at the wrong system is an outage", host),
			fmt.Sprintf("list it in \"targets\" of %s, or name it again: --allow-target %s", file.Path, host))
	}
	return u, Finding{}
}

// connects is what scripts say of their connections, all of them together.
type connects struct {
	skipVerify bool            // none verifies the target's certificate
	clientTLS  bool            // one brings a certificate of its own
	ownNames   bool            // one maps names to addresses itself
	reconnects map[string]bool // by profile
}

// target judges what answered there.
func target(u *url.URL, t probe.Target, c connects) Finding {
	at := u.String()
	needed := "reached and answers"
	// What the script does in its own way may work where ours did not.
	judge := func(own bool, observed, why, remedy string) Finding {
		if own {
			return doubtful(CheckTarget, observed, needed, why, remedy)
		}
		return bad(CheckTarget, observed, needed, why, remedy)
	}
	switch {
	case t.DNS != nil:
		return judge(c.ownNames, reason(t.DNS), fmt.Sprintf("target %s cannot be reached: DNS: %s", at, reason(t.DNS)),
			"see how the name is resolved: getent hosts "+u.Hostname())
	case t.Dial != nil:
		return judge(c.ownNames, reason(t.Dial), fmt.Sprintf("target %s cannot be reached: %s", at, reason(t.Dial)),
			"start the service, or name another one with --target")
	case t.TLS != nil:
		return judge(c.clientTLS, "TLS: "+reason(t.TLS), fmt.Sprintf("target %s cannot be reached by TLS: %s", at, reason(t.TLS)),
			"see what it speaks: openssl s_client -connect "+u.Hostname()+":"+probe.Port(u))
	case t.Trust != nil && c.skipVerify:
		why := fmt.Sprintf("the certificate of target %s is not trusted (%s), and the script does not verify it", at, reason(t.Trust))
		f := doubtful(CheckTarget, reason(t.Trust), needed, why, "leave insecureSkipTLSVerify out of the script's options")
		f.Limitation = why
		return f
	case t.Trust != nil:
		return bad(CheckTarget, reason(t.Trust), needed, fmt.Sprintf("the certificate of target %s is not trusted: %s", at, reason(t.Trust)),
			"name its authority: export SSL_CERT_FILE=ca.pem; or set insecureSkipTLSVerify in the script's options")
	case t.HTTP != nil:
		return doubtful(CheckTarget, "no HTTP: "+reason(t.HTTP), needed,
			fmt.Sprintf("target %s does not answer in HTTP: %s", at, reason(t.HTTP)), "see what it says: curl -v "+u.JoinPath("metrics").String())
	}
	return fine(CheckTarget, at+" answers", needed)
}
