package report

import (
	"fmt"
	"strings"

	"assay/harness/judge/certificate"
)

// Markdown is the certificate for a pull request or the summary of a CI job, in
// GitHub's flavour. Its parts are bounded, so that it stays far below the 1 MiB
// that GitHub takes.
func Markdown(c certificate.Certificate) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n\n", escape(oneLine(c.Verdict)), escape(title(c)))
	fmt.Fprintf(&b, "%s\n\n", escape(claim(c)))
	fmt.Fprintf(&b, "**%s.**\n\n", escape(signed(c)))
	for _, s := range []section{
		sloSection(c), brokenSection(c), limitedSection(c), bottleneckSection(c), splitSection(c), latencySection(c),
		waitsSection(c), statementsSection(c), resourcesSection(c), ledgerSection(c), limitationsSection(c),
		{Heading: "Evidence", Points: []string{
			"run: " + c.Run, "target: " + c.Environment.Target,
			"sha256 of evidence/manifest.json: " + c.Evidence.ManifestSHA256,
			"issued " + day(c.Issued) + ", expires " + day(c.Expires),
		}},
	} {
		writeSection(&b, s.bounded())
	}
	return []byte(b.String())
}

func writeSection(b *strings.Builder, s section) {
	fmt.Fprintf(b, "### %s\n\n", s.Heading)
	if s.Note != "" {
		fmt.Fprintf(b, "%s\n\n", escape(shorten(oneLine(s.Note), mostClaim)))
	}
	if s = s.withoutBars(); len(s.Rows) > 0 {
		for _, c := range s.Columns {
			fmt.Fprintf(b, "| %s ", c.Name)
		}
		b.WriteString("|\n")
		for _, c := range s.Columns {
			if b.WriteString("|---"); c.Right {
				b.WriteByte(':')
			}
		}
		b.WriteString("|\n")
		for _, row := range s.Rows {
			for _, c := range row {
				text := escape(c.Text)
				if c.Verdict && text != "PASS" {
					text = "**" + text + "**"
				}
				fmt.Fprintf(b, "| %s ", text)
			}
			b.WriteString("|\n")
		}
		b.WriteByte('\n')
	}
	for _, p := range s.Points {
		fmt.Fprintf(b, "- %s\n", escape(p))
	}
	if len(s.Points) > 0 {
		b.WriteByte('\n')
	}
	if s.More > 0 {
		fmt.Fprintf(b, "and %d more, in certificate.json\n\n", s.More)
	}
}

// escape keeps a text of one line what it is: no markup, HTML, link or further
// cell of a table.
func escape(s string) string {
	var b strings.Builder
	digits := true // nothing but digits so far: a numbered list may begin
	for i := 0; i < len(s); i++ {
		c := s[i]
		special := strings.IndexByte("\\`*_[]{}<>&|~#$@!^", c) >= 0
		switch c {
		case '-', '+', '=', ':':
			// At the beginning a list, a rule or a heading; in "://" a link.
			special = i == 0 || c == ':' && strings.HasPrefix(s[i:], "://")
		case '.':
			special = digits && ends(s[i+1:]) || strings.HasSuffix(strings.ToLower(s[:i]), "www")
		case ')':
			special = digits && ends(s[i+1:])
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		digits = digits && c >= '0' && c <= '9'
	}
	return b.String()
}

func ends(rest string) bool { return rest == "" || rest[0] == ' ' }
