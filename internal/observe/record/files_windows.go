// SPDX-License-Identifier: Apache-2.0

package record

// noFollow: Windows has no such flags.
const noFollow = 0
