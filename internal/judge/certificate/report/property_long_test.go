//go:build long

package report

import (
	"testing"

	"assay.dev/assay/internal/testing/property"
)

func TestLongProperties(t *testing.T) {
	property.Many(t, map[string]func(*testing.T){
		"HTMLOfAnyCertificate":     TestHTMLOfAnyCertificate,
		"JUnitOfAnyCertificate":    TestJUnitOfAnyCertificate,
		"MarkdownOfAnyCertificate": TestMarkdownOfAnyCertificate,
		"TerminalOfAnyCertificate": TestTerminalOfAnyCertificate,
	})
}
