// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"fmt"

	"assay.dev/assay/internal/document"
)

// MarshalDiagnosis writes the diagnosis in a certificate as JSON: where the time went.
func MarshalDiagnosis(c Certificate) ([]byte, error) {
	text, err := document.Marshal(struct {
		Run        string      `json:"run"`
		Profile    string      `json:"profile"`
		Verdict    string      `json:"verdict"`
		Bottleneck *Bottleneck `json:"bottleneck"`
		Split      []Split     `json:"split"`
		Waits      []Wait      `json:"waits"`
		Statements []Statement `json:"statements"`
		Resources  []Resource  `json:"resources"`
	}{c.Run, c.Profile, c.Verdict, c.Bottleneck, c.Split, c.Waits, c.Statements, c.Resources})
	if err != nil {
		return nil, fmt.Errorf("marshal diagnosis: %w", err)
	}
	return text, nil
}
