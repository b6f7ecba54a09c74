// Package issue writes certificates into a run folder, signed if there is a key.
// Judging again never destroys a signature: without the key, a signed certificate that
// is unchanged keeps its signature, and replacing it by another is refused.
//
// Input: a certificate, its folder, optionally a key. Output: certificate.json and
// certificate.sigstore.json in the folder.
package issue
