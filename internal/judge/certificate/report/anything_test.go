package report

import (
	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
)

// anyCertificate draws a certificate with arbitrary texts where texts come from outside,
// arbitrary numbers where they may be missing, and any number of rows.
func anyCertificate(rt *rapid.T) certificate.Certificate {
	text := rapid.OneOf(rapid.StringN(0, 300, -1), rapid.SampledFrom(hostile))
	number := rapid.Ptr(rapid.Float64(), true)
	whole := rapid.Ptr(rapid.Int64(), true)
	outcome := rapid.SampledFrom([]string{"PASS", "FAIL", "INVALID", "INCONCLUSIVE"})
	c := example("fail")
	c.Verdict, c.Signed = outcome.Draw(rt, "verdict"), rapid.Bool().Draw(rt, "signed")
	c.Profile, c.Claim, c.Run = text.Draw(rt, "profile"), text.Draw(rt, "claim"), text.Draw(rt, "run")
	c.Environment.Target, c.Environment.Host.Name = text.Draw(rt, "target"), text.Draw(rt, "host")
	c.Environment.Database = &record.Database{Flavour: text.Draw(rt, "flavour"), Variables: map[string]string{text.Draw(rt, "variable"): text.Draw(rt, "value")}}
	c.Generator.Fleet[0].Host, c.Generator.Fleet[0].Pod, c.Generator.Fleet[0].Node = text.Draw(rt, "of the worker"), text.Draw(rt, "pod"), text.Draw(rt, "node")
	for range rapid.IntRange(0, 30).Draw(rt, "rows") {
		c.SLOs = append(c.SLOs, certificate.SLO{
			Metric: text.Draw(rt, "metric"), Expression: text.Draw(rt, "expression"), Unit: text.Draw(rt, "unit"),
			Observed: number.Draw(rt, "observed"), Lower: number.Draw(rt, "lower"), Upper: number.Draw(rt, "upper"),
			Samples: whole.Draw(rt, "samples"), Violations: whole.Draw(rt, "violations"), Allowed: whole.Draw(rt, "allowed"),
			Verdict: outcome.Draw(rt, "of the SLO"),
		})
		c.Rules = append(c.Rules, certificate.Rule{
			ID: text.Draw(rt, "id"), Observed: number.Draw(rt, "observed"), Unit: text.Draw(rt, "unit"),
			Verdict: rapid.OneOf(outcome, rapid.Just(certificate.Limitation)).Draw(rt, "of the rule"),
			Detail:  text.Draw(rt, "detail"), Advice: text.Draw(rt, "advice"),
		})
		c.Latency[text.Draw(rt, "endpoint")] = certificate.Latency{Percentiles: certificate.Percentiles{P50: number.Draw(rt, "p50")}, Max: number.Draw(rt, "max")}
		c.Waits = append(c.Waits, certificate.Wait{Event: text.Draw(rt, "event"), Class: text.Draw(rt, "class"), AAS: 1, Inferred: true})
		c.Split = append(c.Split, certificate.Split{
			Component: text.Draw(rt, "component"), MsPerTransaction: number.Draw(rt, "ms"), BaselineMsPerTransaction: number.Draw(rt, "before"),
			Lower: number.Draw(rt, "lower"), Upper: number.Draw(rt, "upper"),
		})
		c.Statements = append(c.Statements, certificate.Statement{Text: text.Draw(rt, "statement"), Event: text.Draw(rt, "event"), MsPerCall: number.Draw(rt, "ms")})
		c.Resources = append(c.Resources, certificate.Resource{Name: text.Draw(rt, "resource"), Unit: text.Draw(rt, "unit"), PerTransaction: number.Draw(rt, "cost")})
		c.Limitations = append(c.Limitations, text.Draw(rt, "limitation"))
	}
	if rapid.Bool().Draw(rt, "examined") {
		c.Bottleneck = &certificate.Bottleneck{
			Component: text.Draw(rt, "component"), Confidence: number.Draw(rt, "confidence"), Sentence: text.Draw(rt, "sentence"),
			Evidence: []string{text.Draw(rt, "evidence")}, Confirm: []string{text.Draw(rt, "experiment")}, Remedy: text.Draw(rt, "remedy"),
			RunnerUp: &certificate.RunnerUp{Component: text.Draw(rt, "second"), GrowthMs: number.Draw(rt, "growth")},
		}
	}
	return c
}

// hostile are texts that would be more than text if they were not escaped.
var hostile = []string{
	`<script>window.pwned = 1</script>`,
	`"><img src=x onerror="window.pwned = 1">`,
	`</script><script>window.pwned = 1</script>`,
	`]]></failure><skipped/>`,
	"| a | b |\n|---|---|\n| c | d |",
	"[a](javascript:alert(1)) ![b](http://127.0.0.1:1/x.png) `c` **d** <!-- e",
	"http://example.com www.example.com @somebody #1 :tada:",
	"\x00\x1b[31mred\x1b[0m\r\n\x7f\u2028\ufffe\xff",
}
