package haproxy

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/process"
)

// BinaryEnv is the environment variable that names the program, if it is not on the PATH.
const BinaryEnv = "ASSAY_HAPROXY"

// Find returns the program.
func Find() (string, error) {
	for _, name := range []string{os.Getenv(BinaryEnv), "haproxy", "/usr/sbin/haproxy"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return filepath.Abs(path)
		} else if name != "" && name == os.Getenv(BinaryEnv) {
			return "", hint.With(fmt.Errorf("find HAProxy: %w", err), "name the program in "+BinaryEnv)
		}
	}
	return "", hint.With(fmt.Errorf("no haproxy found"), "install it, e.g. with apt-get install haproxy, or name it in "+BinaryEnv)
}

// Listener is a port and the servers behind it.
type Listener struct {
	Name    string
	Port    int
	Check   string // path of the health endpoint: 200 = can be used
	Servers []Server
}

// Server is a server behind a listener.
type Server struct {
	Name       string
	Port       int
	HealthPort int
	Backup     bool // used only while no other server can be
}

//go:embed haproxy.cfg.tmpl
var text string

var configuration = template.Must(template.New("").Funcs(template.FuncMap{"address": process.Address}).Parse(text))

// Configuration is the content of the configuration file.
func Configuration(listeners []Listener) ([]byte, error) {
	var b bytes.Buffer
	err := configuration.Execute(&b, listeners)
	return b.Bytes(), err
}

// Command runs the program in the foreground.
func Command(binary, configuration string) *exec.Cmd {
	c := exec.Command(binary, "-db", "-f", configuration)
	c.Env = process.Environment()
	return c
}
