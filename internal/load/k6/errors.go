package k6

import (
	"cmp"
	"strconv"
	"strings"

	"assay.dev/assay/internal/load/answer"
	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
)

// classTag is the tag by which a script's counter errors_by_class, and the module
// k6/x/assay/sql, name the class.
const classTag = "class"

// maxClassBytes bounds the classes that scripts name.
const maxClassBytes = 60

// errorTexts are parts of the texts of k6's errors, for codes that do not tell the
// class: k6 has a single code for the errors of opening a socket, and none for a
// connection that was closed.
var errorTexts = []struct{ text, class string }{
	{"101 Switching Protocols", "HTTP 101"},
	{"too many open files", metric.ErrorOpenFiles},
	{answer.Crowded, metric.ErrorAnswers},
	{answer.TooLarge, metric.ErrorAnswerSize},
	{"cannot assign requested address", metric.ErrorNoPort},
	{"no buffer space available", metric.ErrorNoMemory},
	{"cannot allocate memory", metric.ErrorNoMemory},
	{"no route to host", metric.ErrorUnreachable},
	{"network is unreachable", metric.ErrorUnreachable},
	{"connection refused", metric.ErrorRefused},
	{"connection reset", metric.ErrorReset},
	{"broken pipe", metric.ErrorReset},
	{"EOF", metric.ErrorClosed},
	{"server closed idle connection", metric.ErrorClosed},
	{"use of closed network connection", metric.ErrorClosed},
	{"stopped after", metric.ErrorRedirects},
	{"unsupported protocol scheme", metric.ErrorRequest},
	{"no Host in request URL", metric.ErrorRequest},
	{"net/http: invalid ", metric.ErrorRequest},
	{"deadline exceeded", metric.ErrorTimeout},
	{"timeout", metric.ErrorTimeout},
	{"tls: ", metric.ErrorTLS},
	{"x509: ", metric.ErrorTLS},
	{"context canceled", metric.ErrorCanceled},
}

// requestClass is the class of a failed request by k6's tags error_code, error and
// status. The ranges of codes are those of k6 v2, lib/netext/httpext/error_codes.go.
func requestClass(code int, text, status string) string {
	switch {
	case code == 1050:
		return metric.ErrorTimeout
	case code == 1211:
		return metric.ErrorConnectTimeout
	case code == 1212:
		return metric.ErrorRefused
	case code == 1201 || code == 1220: // EPIPE: the connection had been reset before
		return metric.ErrorReset
	case code >= 1100 && code < 1110:
		return metric.ErrorDNS
	case code == 1110 || code == 1111: // by blacklistIPs or blockHostnames of the script
		return metric.ErrorRequest
	case code >= 1300 && code < 1400:
		return metric.ErrorTLS
	case code >= 1400 && code < 1600: // 1000 + status
		return "HTTP " + strconv.Itoa(code-1000)
	case code >= 1600 && code < 1700:
		return metric.ErrorHTTP2
	}
	for _, known := range errorTexts {
		if strings.Contains(text, known.text) {
			return known.class
		}
	}
	if code == 0 && status != "" && status != "0" { // a status that the script does not expect
		return "HTTP " + status
	}
	return metric.ErrorOther
}

// requestClass is the series of the class of a request with these tags, if it fails.
func (c *seriesIndex) requestClass(tags *tagSet, of *metric.Protocol) int {
	if tags.class < 0 {
		class := ""
		if call := calls[of.Duration()]; call != nil {
			class = call.class(tags.status)
		} else {
			code, _ := strconv.Atoi(tags.get("error_code")) // 0: the request had no error
			class = requestClass(code, tags.get("error"), tags.get("status"))
		}
		tags.class = c.errorClass(tags.scenario, metric.AtClient, class)
	}
	return tags.class
}

// lackSeries is the series of transactions that failed for what the generator has not got.
func (c *seriesIndex) lackSeries(scenario, class string) int {
	return c.add(metric.Of(metric.GeneratorLacks, "scenario", scenario, "class", class), metric.Counter)
}

// errorClass is the series of a class in a scenario. Of the classes that scripts name, those
// beyond the limit on series are counted as other.
func (c *seriesIndex) errorClass(scenario, where, class string) int {
	scenario = maskTag(scenario) // a script can set this tag
	return c.counter(metric.MaxSeries, class, metric.ErrorOther, func(class string) metric.Series {
		return metric.Of(metric.ErrorsByClass, "where", where, "class", class, "scenario", scenario)
	})
}

// form is the series of acknowledged identities of a form, of which there may be few.
func (c *seriesIndex) form(scenario, form string) int {
	return c.counter(len(c.flows)*ledger.MaxForms, form, ledger.OtherForms, func(form string) metric.Series {
		return metric.Of(metric.AcknowledgedForms, "form", form, "scenario", scenario)
	})
}

// counter is the series with a value of a label, or with the other one once the metric has as many
// as its limit.
func (c *seriesIndex) counter(limit int, value, other string, with func(value string) metric.Series) int {
	s := with(value)
	if _, known := c.byKey[s.Key()]; !known {
		if c.count[s.Name]++; c.count[s.Name] > limit {
			s = with(other)
		}
	}
	return c.add(s, metric.Counter)
}

// scriptClass is the series of a class that the script, or the module of its statements,
// names.
func (c *seriesIndex) scriptClass(tags *tagSet) int {
	class := cmp.Or(tags.get(classTag), metric.ErrorOther)
	return c.errorClass(tags.scenario, metric.AtScript, mask.Cut(maskTag(class), maxClassBytes))
}

// transactionClass is the class of a transaction that did not complete for another
// reason than its requests and the errors that its script classified; empty: there is
// none.
func transactionClass(outcome arrivals.Outcome, v *vu) string {
	switch {
	case outcome == arrivals.TimedOut:
		return metric.ErrorTransaction
	case outcome == arrivals.Dropped:
		return metric.ErrorNotStarted
	case outcome == arrivals.Failed && !v.failed && !v.classified:
		return cmp.Or(v.lacked, metric.ErrorScript)
	}
	return ""
}
