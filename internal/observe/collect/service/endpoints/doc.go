// Package endpoints finds the metrics endpoints of all pods behind a Kubernetes Service.
//
// Input: the Service's EndpointSlices, or a client of the cluster and the Service's name.
// Output: the URL of the metrics of each pod that is ready, for a collector.
//
// It needs the rights to get services and to list endpointslices (discovery.k8s.io) in the
// Service's namespace.
package endpoints
