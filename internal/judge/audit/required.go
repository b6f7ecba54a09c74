// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Required is what a gate requires of a certificate. A field that is nil requires nothing.
type Required struct {
	Profile   *string // its name
	Target    *string // base URL
	Scope     *string // spec.ScopeCertificate, or spec.ScopeSmoke, which a certificate meets too
	MinRate   *string // lowest target rate, like 500, or 500tps
	Revision  *string // revision of the service, as the service reports it
	NotBefore *string // earliest time of issue: RFC 3339, or an age, like 24h
}

// requirement is one of them, ready to be compared.
type requirement struct {
	name, text string
	check      condition
	stated     func(c certificate.Certificate) string
}

// condition says why a certificate does not meet what a text requires, or why the text cannot
// be understood; nil: it does. Without a certificate it is only about the text.
type condition func(text string, c *certificate.Certificate) error

// requirements are those that are stated, in their order. An error says which cannot be
// understood: an empty text too, as that of a variable that is not set.
func (r Required) requirements(now time.Time) (all []requirement, err error) {
	for _, s := range []struct {
		name, example string
		text          *string
		check         condition
		stated        func(c certificate.Certificate) string
	}{
		{ProfileCheck, "payment", r.Profile, requireProfile, func(c certificate.Certificate) string { return c.Profile }},
		{Target, "https://shop.example", r.Target, requireTarget, func(c certificate.Certificate) string { return c.Environment.Target }},
		{Scope, spec.ScopeCertificate, r.Scope, requireScope, func(c certificate.Certificate) string { return c.Scope }},
		{MinRate, "500", r.MinRate, requireRate, rateText},
		{Revision, "4f2a91c", r.Revision, requireRevision, func(c certificate.Certificate) string { return buildsText(c.Environment.Service) }},
		{NotBefore, "24h", r.NotBefore, requireIssued(now), func(c certificate.Certificate) string { return c.Issued.Format(time.RFC3339) }},
	} {
		if s.text == nil {
			continue
		}
		err := s.check(*s.text, nil)
		if *s.text == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			return nil, hint.With(fmt.Errorf("--%s %q: %w", s.name, *s.text, err), fmt.Sprintf("for example: --%s %s", s.name, s.example))
		}
		all = append(all, requirement{s.name, *s.text, s.check, s.stated})
	}
	return all, nil
}

func requireProfile(name string, c *certificate.Certificate) error {
	if c != nil && c.Profile != name {
		return fmt.Errorf("the certificate is of profile %s, required: %s", c.Profile, name)
	}
	return nil
}

func requireTarget(text string, c *certificate.Certificate) error {
	want, err := sameURL(text)
	if err != nil || c == nil {
		return err
	}
	if is, err := sameURL(c.Environment.Target); err != nil || is != want {
		return fmt.Errorf("the certificate is for %s, required: %s", c.Environment.Target, text)
	}
	return nil
}

// sameURL is the same text for the same base URL: without the default port, a slash at the
// end, and the case of scheme and host.
func sameURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return "", errors.New("it is no URL")
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, port), ":")
	}
	u.Path, u.RawPath = strings.TrimRight(u.EscapedPath(), "/"), ""
	return u.Scheme + "://" + u.User.String() + "@" + u.Host + u.Path + "?" + u.RawQuery, nil
}

func requireScope(want string, c *certificate.Certificate) error {
	switch {
	case want != spec.ScopeCertificate && want != spec.ScopeSmoke:
		return errors.New("it must be certificate or smoke")
	case c != nil && want == spec.ScopeCertificate && c.Scope != want:
		return fmt.Errorf("the certificate is a %s of %d s, required: %s", c.Scope, c.Window.Seconds, want)
	}
	return nil
}

func requireRate(text string, c *certificate.Certificate) error {
	number, unit := text, ""
	for _, u := range []string{"tps", "rps"} {
		if before, ok := strings.CutSuffix(text, u); ok {
			number, unit = strings.TrimSpace(before), u
		}
	}
	least, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || !(least > 0) || math.IsInf(least, 0):
		return errors.New("it must be a rate above 0, in the certificate's unit")
	case c == nil:
	case unit != "" && unit != c.Rate.Unit:
		return fmt.Errorf("the certificate's rate is in %s, required: %s", c.Rate.Unit, text)
	case c.Rate.Target < least:
		return fmt.Errorf("the certificate is for %s, required: at least %s", rateText(*c), text)
	}
	return nil
}

// rateText is the rate that a certificate is for: with several flows, the highest that they hold
// together, and that of each.
func rateText(c certificate.Certificate) string {
	text := c.Rate.String()
	for i, f := range c.Flows {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += separator + f.Name + " " + quantity.Exact(f.Rate.Target)
	}
	return text
}

func requireRevision(want string, c *certificate.Certificate) error {
	if c == nil {
		return nil
	}
	service, found := c.Environment.Service, false
	if service == nil || len(service.Builds) == 0 {
		return fmt.Errorf("the service reported no build (a gauge *_build_info), required: %s", want)
	}
	for _, b := range service.Builds {
		for label, value := range b.Labels {
			if value != want {
				continue
			}
			found = true
			for _, other := range service.Builds { // such as of an instance that was not replaced yet
				if other.Metric == b.Metric && other.Labels[label] != want {
					return fmt.Errorf("the certificate is for %s, required: %s alone", buildsText(service), want)
				}
			}
		}
	}
	switch same := c.Environment.ServiceUnchanged; {
	case !found:
		return fmt.Errorf("the certificate is for %s, required: %s", buildsText(service), want)
	case same == nil:
		return fmt.Errorf("the service's builds were read before the load, but not throughout it, required: %s", want)
	case !*same:
		return fmt.Errorf("under load an instance of the service reported another build than %s, or none, required: %s alone", buildsText(service), want)
	}
	return nil
}

// buildsText lists the builds that a service reports; "not reported" if it reports none.
func buildsText(s *record.Service) string {
	if s == nil || len(s.Builds) == 0 {
		return "not reported"
	}
	var all []string
	for _, b := range s.Builds {
		var labels []string
		for name, value := range b.Labels {
			labels = append(labels, name+" "+value)
		}
		slices.Sort(labels)
		all = append(all, b.Metric+" ("+strings.Join(labels, ", ")+")")
	}
	return strings.Join(all, ", ")
}

func requireIssued(now time.Time) condition {
	return func(text string, c *certificate.Certificate) error {
		earliest, err := time.Parse(time.RFC3339, text)
		if err != nil {
			age, err := time.ParseDuration(text)
			if err != nil || age <= 0 {
				return errors.New("it must be a time like 2026-11-20T12:00:00Z, or an age like 24h")
			}
			earliest = now.Add(-age).UTC()
		}
		if c != nil && c.Issued.Before(earliest) {
			return fmt.Errorf("the certificate was issued at %s, required: not before %s", c.Issued.Format(time.RFC3339), earliest.Format(time.RFC3339))
		}
		return nil
	}
}

// checkTrial refuses a run that was not made to certify.
func checkTrial(r *Report, f files) {
	if f.stated.Scope == spec.ScopeTrial {
		r.add(Scope, Failed, "a trial certifies nothing: its load or its system was chosen by a search, an experiment or the like")
	}
}

// checkRequired compares what the certificate states with what is required.
func checkRequired(r *Report, f files, all []requirement) {
	for _, q := range all {
		err := q.check(q.text, &f.stated)
		held := Requirement{Name: q.name, Required: q.text, Stated: q.stated(f.stated), Held: err == nil}
		r.Required = append(r.Required, held)
		if err != nil {
			r.add(q.name, Failed, "%v", err)
			continue
		}
		r.add(q.name, OK, "%s, required: %s", held.Stated, q.text)
	}
}
