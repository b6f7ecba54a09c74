// Package clustertest starts a real Kubernetes cluster of one node for tests: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler, containerd, kubelet and
// kube-proxy, and a server for the names of Services.
//
// Input: the programs that .ci/kubernetes makes, in a folder that an environment variable
// names, and images that a test writes. Output: a cluster whose node is ready, with the
// files and clients to reach it; it is gone when the test ends.
//
// Linux only, as root. Works only within `.ci/cluster`, in namespaces without a network:
// on the machine itself its programs would change settings of the kernel and rules of the
// firewall. No registry is reachable: pods run images that were imported.
package clustertest
