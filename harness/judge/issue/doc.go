// Package issue puts certificates into a run folder, signed where there is a
// key. Judging again never destroys a signature: without the key a signed
// certificate stays as it is, or is refused to be replaced.
//
// Input: a certificate, its folder, perhaps a key. Output: certificate.json and
// certificate.sigstore.json there.
package issue
