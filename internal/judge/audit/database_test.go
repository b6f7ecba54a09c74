package audit

import (
	"maps"
	"testing"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/record"
	"pgregory.net/rapid"
)

// Changes are listed exactly if two databases differ.
func TestDatabaseChanges(t *testing.T) {
	settings := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}))
	rapid.Check(t, func(rt *rapid.T) {
		was := record.Database{Version: "1", Variables: settings.Draw(rt, "was")}
		is := record.Database{Version: "1", Variables: settings.Draw(rt, "is")}
		if got := databaseChanges(was, is); (len(got) == 0) != maps.Equal(was.Variables, is.Variables) {
			rt.Errorf("%v and %v: %q", was, is, got)
		}
	})
}

// A record has the settings without the secrets of its run.
func TestDatabaseWithASecretIsUnchanged(t *testing.T) {
	mask.Add("Zq7-in-a-setting")
	was := record.Database{Variables: map[string]string{"init_connect": "SET @a = '***'", "sync_binlog": "1"}}
	is := record.Database{Variables: map[string]string{"init_connect": "SET @a = 'Zq7-in-a-setting'", "sync_binlog": "0"}}
	if got := databaseChanges(was, is); len(got) != 1 || got[0] != "sync_binlog was 1, is 0" {
		t.Errorf("%q", got)
	}
}
