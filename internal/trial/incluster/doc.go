// Package incluster runs the coordinator of a run as a Job of a Kubernetes cluster, and
// brings its record back.
//
// Input: what `assay certify` is asked for, and the files of the project. Output: the
// sealed run folder on this machine, as if the run had been made here. manifest.go and
// project.go are pure; submit.go, follow.go and collect.go talk to the cluster; hold.go
// is the part that runs in the coordinator's pod.
package incluster
