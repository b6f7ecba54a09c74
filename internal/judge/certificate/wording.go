package certificate

// SchemaVersion is the semantic version of certificate.json: fields are added, never renamed.
// 1.1.0 has added judged_by.
const SchemaVersion = "1.1.0"

// wording are the fields, anywhere in a certificate, that say in words what other fields
// decide or measure. Builds may word them differently.
var wording = map[string]bool{
	"claim": true, "limitations": true, "detail": true, "advice": true, "sentence": true, "evidence": true, "remedy": true, "protects": true, "error": true,
	"judged_by": true, // names the build, which is compared by itself
}

// IsWording reports whether a field of a certificate, with its decoded value (nil: the field
// is missing), is wording: text, a list of texts, or the name of the build.
func IsWording(name string, value any) bool {
	if _, object := value.(map[string]any); object && name != "judged_by" {
		return false // the digests of the evidence
	}
	return wording[name]
}
