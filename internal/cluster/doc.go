// Package cluster is what Assay needs of a namespace of a Kubernetes cluster: it connects,
// creates, patches and removes objects, prints the Roles that runs need, and says what became
// of a pod.
//
// Input: a kubeconfig file, or the service account of this pod. Output: typed clients of
// client-go. It watches nothing.
package cluster
