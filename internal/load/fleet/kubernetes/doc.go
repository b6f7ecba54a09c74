// Package kubernetes is the engine that runs workers as pods of a Kubernetes cluster: of
// an Indexed Job, or of a TestRun of the k6-operator.
//
// Input: the namespace, the image, what each pod asks for, and how to reach the
// coordinator. Output: pods that run `assay worker` and join by themselves, and what the
// cluster says of each of them: its node, and why it ended. manifest.go, testrun.go and
// network.go are pure; fleet.go talks to the cluster.
package kubernetes
