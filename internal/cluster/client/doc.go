// Package client has the typed clients of those groups of the Kubernetes API that this
// program uses. The set of all groups (k8s.io/client-go/kubernetes), with its informers,
// takes a minute more to compile, and makes each program 10 MB larger.
//
// Input: the configuration of a cluster's client. Output: its clients, and informers that
// follow objects of one kind.
package client
