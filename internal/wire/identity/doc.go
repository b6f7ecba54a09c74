// Package identity is how a worker knows its coordinator: the key and certificate that
// the coordinator shows, and what a worker accepts.
//
// Input: nothing, the run's token, or a certificate and its key as files; for a worker
// the URL of the join line and the token. Output: a TLS certificate and its key's
// fingerprint; for a worker a TLS configuration.
//
// A key that is derived from the token lets workers be started before their coordinator
// exists: they know the token, and with it the key. Whoever sees such a certificate can
// try tokens against it at leisure, so the token must be random.
package identity
