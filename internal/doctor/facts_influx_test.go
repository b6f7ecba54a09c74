//go:build live

package doctor

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/influxtest"
)

func TestExamineInflux(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	server := influxtest.Start(t)
	if i := examineInflux(t.Context(), server.Server.URL(), server.Token()); i.Err != nil || !strings.Contains(i.Name, "database assay") {
		t.Errorf("%+v", i)
	}
	if i := examineInflux(t.Context(), server.URL(), "assay:wrong"); i.Err == nil || !strings.Contains(i.Err.Error(), "denied the write") {
		t.Errorf("with a wrong password: %+v", i)
	}
	if i := examineInflux(t.Context(), "http://"+listen(t, hang), "assay:hunter2"); i.Err == nil || strings.Contains(i.Err.Error(), "hunter2") {
		t.Errorf("one that hangs: %+v", i)
	}
	if i := examineInflux(t.Context(), "what", ""); i.Err == nil || i.Name != "" {
		t.Errorf("no URL: %+v", i)
	}
}
