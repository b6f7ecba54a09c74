// SPDX-License-Identifier: Apache-2.0

package audit

// wording are the fields, anywhere in a certificate, that say in words what other fields
// decide or measure. Builds may word them differently.
var wording = map[string]bool{
	"claim": true, "limitations": true, "detail": true, "advice": true, "sentence": true, "evidence": true, "remedy": true, "protects": true, "error": true,
	"judged_by": true, // names the build, which is compared by itself
}

// isWording reports whether a field of a certificate, with its decoded value (nil: the field
// is missing), is wording: text, a list of texts, or the name of the build.
func isWording(name string, value any) bool {
	if _, object := value.(map[string]any); object && name != "judged_by" {
		return false // the digests of the evidence
	}
	return wording[name]
}
