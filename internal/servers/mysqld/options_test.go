package mysqld_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
)

func TestReservedOption(t *testing.T) {
	for _, arg := range []string{"--port=1", "--bind_address=0.0.0.0", "--loose-socket=/x", "max-connections=1", "--init-file=x"} {
		_, err := mysqld.Start(t.Context(), mysqld.Options{Dir: t.TempDir(), Args: []string{arg}})
		if err == nil || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
