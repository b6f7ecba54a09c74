package mysqld

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestComposeOptions: the server of docker-compose.yml has the same options, except
// for paths and address, which are the container's.
func TestComposeOptions(t *testing.T) {
	data, err := os.ReadFile("../../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct{ Command yaml.Node }
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var composed []string
	if command := file.Services["mysql"].Command; command.Decode(&composed) != nil {
		t.Fatal("mysql has no command")
	}
	own := slices.DeleteFunc(serverArgs(layout{}, 3306, MySQL, nil), func(arg string) bool {
		return slices.Contains([]string{
			"no-defaults", "user", "datadir", "tmpdir", "pid-file", "socket", "secure-file-priv", "bind-address", "port",
		}, optionName(arg))
	})
	if diff := cmp.Diff(own, composed); diff != "" {
		t.Errorf("options of the stack (-), of the compose file (+):\n%s", diff)
	}
}
