// Package cluster talks to the API of a Kubernetes cluster, in one namespace: it connects,
// creates and removes objects, and applies the user's patches to manifests.
//
// Input: a kubeconfig file, or the service account of this pod. Output: typed clients of
// client-go. It watches nothing and knows nothing of runs.
package cluster
