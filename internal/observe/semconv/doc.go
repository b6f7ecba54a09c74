// SPDX-License-Identifier: Apache-2.0

// Package semconv knows which metrics of a service OpenTelemetry's semantic conventions
// name, and which metrics of the catalogue they are. It is data: the metrics are read where
// the service exposes them (collect/service), and from what it pushed (record).
//
// Input: nothing. Output: the list Metrics.
package semconv
