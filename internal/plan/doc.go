// SPDX-License-Identifier: Apache-2.0

// Package plan turns a profile's load into a plan: stages with exact arrival counts,
// the windows that are judged and compared, and each worker's share and virtual
// users. It is pure.
package plan
