// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"net/http"

	"assay.dev/assay/internal/mask"
)

// Bounds of what is shown of an error that quotes an answer, and of a status, bytes.
const maxLine, maxStatus = 500, 200

// Status is the status of a stranger's answer in one line of bounded length: its words may be
// any bytes.
func Status(resp *http.Response) string { return mask.Line(resp.Status, maxStatus) }

// line is an error in one line of bounded length.
type line struct{ error }

func (l line) Error() string { return mask.Line(l.error.Error(), maxLine) }
func (l line) Unwrap() error { return l.error }

// Line is an error of HTTP, such as one that quotes a header, in one line of bounded length.
func Line(err error) error {
	if err == nil {
		return nil
	}
	return line{err}
}
