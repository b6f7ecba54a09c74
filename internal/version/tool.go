// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"

	"assay.dev/assay/certificate"
)

// Tool describes this build. A build without VCS information counts as dirty.
func Tool() certificate.Tool {
	t := certificate.Tool{Version: "devel", Dirty: true}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	t.Go, t.Version = info.GoVersion, info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Revision = s.Value
		case "vcs.modified":
			t.Dirty = s.Value != "false"
		}
	}
	for _, m := range info.Deps {
		if m.Path == "go.k6.io/k6/v2" {
			t.K6 = m.Version
		}
	}
	return t
}
