//go:build live

package run_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// Grafana's provisioning has a data source that takes its secrets from the environment, and
// the folder that the dashboards are mounted at.
func TestProvisioning(t *testing.T) {
	type source struct {
		Name, UID, Type, Access, URL, User, Database string
		IsDefault                                    bool              `yaml:"isDefault"`
		JSONData                                     map[string]string `yaml:"jsonData"`
		SecureJSONData                               map[string]string `yaml:"secureJsonData"`
	}
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []source
	}
	decode(t, "datasources/influxdb.yaml", &sources)
	want := source{
		Name: "InfluxDB", UID: "assay-influxdb", Type: "influxdb", Access: "proxy", URL: "http://influxdb:8086",
		User: "$ASSAY_INFLUX_USER", Database: "assay", IsDefault: true,
		JSONData:       map[string]string{"dbName": "assay", "version": "InfluxQL", "httpMode": "POST", "timeInterval": "1s"},
		SecureJSONData: map[string]string{"password": "$ASSAY_INFLUX_PASSWORD"},
	}
	if diff := cmp.Diff([]source{want}, sources.Datasources); diff != "" || sources.APIVersion != 1 {
		t.Error(diff)
	}
	var folders struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type    string
			AllowUIUpdates        bool `yaml:"allowUiUpdates"`
			UpdateIntervalSeconds int  `yaml:"updateIntervalSeconds"`
			Options               struct{ Path string }
		}
	}
	decode(t, "dashboards/assay.yaml", &folders)
	if p := folders.Providers; folders.APIVersion != 1 || len(p) != 1 || p[0].Type != "file" || p[0].Options.Path != "/var/lib/grafana/dashboards" {
		t.Errorf("%+v", folders)
	}
}

// decode reads a provisioning file, and fails the test for keys that into does not have.
func decode(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dashboards, "provisioning", name))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
