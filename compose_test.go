package assay_test

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/go-sql-driver/mysql"
	"gopkg.in/yaml.v3"

	"assay.dev/assay/internal/project"
	"assay.dev/assay/internal/wire/identity"
)

// composed is a new project as `assay init` and docker/setup.sh leave it: what
// docker-compose.yml needs must all be in there.
type composed struct {
	dir     string
	env     map[string]string // variables of .env
	project *types.Project
}

func compose(t *testing.T) composed {
	t.Helper()
	c := composed{dir: t.TempDir()}
	if _, err := project.Write(c.dir); err != nil {
		t.Fatal(err)
	}
	c.env = setUp(t, c.dir)
	var err error
	if c.project, err = load(t.Context(), c.dir, c.env); err != nil {
		t.Fatal(err)
	}
	return c
}

func setUp(t *testing.T, dir string) map[string]string {
	t.Helper()
	// From elsewhere, as a user may call it.
	if out, err := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "docker/setup.sh")).CombinedOutput(); err != nil {
		t.Fatalf("docker/setup.sh: %v: %s", err, out)
	}
	env, err := dotenv.Read(filepath.Join(dir, ".env"))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// load reads the compose file strictly, with all profiles, as Compose does.
func load(ctx context.Context, dir string, env map[string]string) (*types.Project, error) {
	return loader.LoadWithContext(ctx, types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "docker-compose.yml")}},
		Environment: maps.Clone(env), // the loader adds to it
	}, func(o *loader.Options) {
		o.SetProjectName("assay", true)
		o.Profiles = []string{"*"}
	})
}

// passwords are those of .env, and the workers' token.
func (c composed) passwords() map[string]string {
	found := maps.Clone(c.env)
	maps.DeleteFunc(found, func(name, _ string) bool { return !strings.HasSuffix(name, "_PASSWORD") && name != "ASSAY_JOIN_TOKEN" })
	return found
}

func (c composed) service(t *testing.T, name string) types.ServiceConfig {
	t.Helper()
	s, err := c.project.GetService(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(s types.ServiceConfig, name string) string {
	if v := s.Environment[name]; v != nil {
		return *v
	}
	return ""
}

func TestComposeServices(t *testing.T) {
	c := compose(t)
	if want := []string{"assay", "grafana", "influxdb", "mysql", "target", "worker"}; !slices.Equal(c.project.ServiceNames(), want) {
		t.Fatalf("services %v, want %v", c.project.ServiceNames(), want)
	}
	for name, s := range c.project.Services {
		isServer := name != "assay" && name != "worker"
		if isStarted := len(s.Profiles) == 0 && s.GetScale() == 1; isStarted != isServer {
			t.Errorf("%s: profiles %v, scale %d: up must start the servers only", name, s.Profiles, s.GetScale())
		}
		if isServer && (s.HealthCheck == nil || s.HealthCheck.Disable || len(s.HealthCheck.Test) < 2) {
			t.Errorf("%s has no health check", name)
		}
		if isServer != (len(s.Ports) == 1) {
			t.Errorf("%s publishes %d ports", name, len(s.Ports))
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q, not on loopback only", name, p.Published, p.HostIP)
			}
		}
		for on, d := range s.DependsOn {
			if d.Condition != types.ServiceConditionHealthy {
				t.Errorf("%s starts when %s is %s, not when it is healthy", name, on, d.Condition)
			}
		}
		if s.Privileged || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s could do more than it needs", name)
		}
		if s.Image == "" || !strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest") {
			t.Errorf("%s: the version of image %q is open", name, s.Image)
		}
	}
}

// TestComposeVolumes: data has a name, and what is mounted is there.
func TestComposeVolumes(t *testing.T) {
	c := compose(t)
	for name, s := range c.project.Services {
		for _, v := range s.Volumes {
			switch v.Type {
			case types.VolumeTypeVolume:
				if _, declared := c.project.Volumes[v.Source]; !declared {
					t.Errorf("%s: volume %q at %s has no name", name, v.Source, v.Target)
				}
			case types.VolumeTypeBind:
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s mounts what is not there: %v", name, err)
				}
				if v.ReadOnly == (v.Target == "/certification/runs") {
					t.Errorf("%s: read only at %s is %t", name, v.Target, v.ReadOnly)
				}
			default:
				t.Errorf("%s: mount of type %q at %s", name, v.Type, v.Target)
			}
		}
	}
}

// TestComposePasswords: each is random, is written once, and has no default.
func TestComposePasswords(t *testing.T) {
	c := compose(t)
	path := filepath.Join(c.dir, ".env")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env: %v, %v", info, err)
	}
	if again := setUp(t, c.dir); !maps.Equal(again, c.env) {
		t.Error("docker/setup.sh changed what was there")
	}
	seen := map[string]bool{}
	for name, p := range c.passwords() {
		if !regexp.MustCompile(`^[0-9a-z]{40,}$`).MatchString(p) || seen[p] {
			t.Errorf("%s is short, could be read as syntax, or is another's", name)
		}
		seen[p] = true
	}
	for name := range c.env {
		without := maps.Clone(c.env)
		delete(without, name)
		for _, env := range []map[string]string{without, join(without, name, "")} {
			_, err := load(t.Context(), c.dir, env)
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "run: sh docker/setup.sh") {
				t.Errorf("without %s: %v", name, err)
			}
		}
	}
	secret := regexp.MustCompile(`PASSWORD|TOKEN|^ASSAY_DB$`)
	for service, s := range c.project.Services {
		for name, v := range s.Environment {
			isRandom := v != nil && slices.ContainsFunc(slices.Collect(maps.Values(c.passwords())), func(p string) bool { return strings.Contains(*v, p) })
			if secret.MatchString(name) != isRandom {
				t.Errorf("%s: %s holds a password of .env: %t", service, name, isRandom)
			}
		}
		if line := strings.Join(append(slices.Clone(s.Command), healthCommand(s)...), " "); slices.ContainsFunc(slices.Collect(maps.Values(c.passwords())), func(p string) bool { return strings.Contains(line, p) }) {
			t.Errorf("%s has a password on a command line", service)
		}
	}
}

func join(env map[string]string, name, value string) map[string]string {
	env = maps.Clone(env)
	env[name] = value
	return env
}

func healthCommand(s types.ServiceConfig) []string {
	if s.HealthCheck == nil {
		return nil
	}
	return s.HealthCheck.Test
}

// TestComposeSetUpKeeps: an .env of one's own is added to, never overwritten.
func TestComposeSetUpKeeps(t *testing.T) {
	dir := t.TempDir()
	if _, err := project.Write(dir); err != nil {
		t.Fatal(err)
	}
	own := "MINE=1\nASSAY_GRAFANA_PASSWORD=chosen" // no line end
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	env := setUp(t, dir)
	if env["MINE"] != "1" || env["ASSAY_GRAFANA_PASSWORD"] != "chosen" {
		t.Errorf("own lines became %q, %q", env["MINE"], env["ASSAY_GRAFANA_PASSWORD"])
	}
	if _, err := load(t.Context(), dir, env); err != nil {
		t.Error(err)
	}
}

// TestComposeConnections: who connects to whom, as whom, is the same on both
// sides.
func TestComposeConnections(t *testing.T) {
	c := compose(t)
	db, influx := c.service(t, "mysql"), c.service(t, "influxdb")
	for service, user := range map[string]string{"target": "SERVICE", "assay": "COLLECTOR"} {
		dsn, err := mysql.ParseDSN(value(c.service(t, service), "ASSAY_DB"))
		if err != nil {
			t.Fatal(err)
		}
		if dsn.Addr != "mysql:3306" || dsn.DBName != "assay" || dsn.User != "assay_"+strings.ToLower(user) || dsn.Passwd != value(db, "ASSAY_"+user+"_PASSWORD") {
			t.Errorf("%s connects to %s/%s as %s, or with another's password", service, dsn.Addr, dsn.DBName, dsn.User)
		}
	}
	run, target := c.service(t, "assay"), c.service(t, "target")
	if u, err := url.Parse(value(run, "ASSAY_TARGET")); err != nil || u.Hostname() != "target" || value(run, "ASSAY_ALLOW_TARGET") != "target" || !slices.Contains(target.Command, "0.0.0.0:"+u.Port()) {
		t.Errorf("assay's target %s is not what %v serves", u, target.Command)
	}
	if u, err := url.Parse(value(run, "ASSAY_INFLUX_URL")); err != nil || u.Host != "influxdb:8086" || u.Query().Get("db") != value(influx, "INFLUXDB_DB") {
		t.Errorf("assay writes to %s", u)
	}
	if value(run, "ASSAY_INFLUX_TOKEN") != value(influx, "INFLUXDB_USER")+":"+value(influx, "INFLUXDB_USER_PASSWORD") {
		t.Error("assay's token is not of the user who may write")
	}
	if value(influx, "INFLUXDB_HTTP_AUTH_ENABLED") != "true" {
		t.Error("InfluxDB asks for no password")
	}
}

// TestComposeWorkers: a worker finds the coordinator, by the same address and with the same
// token, may be started before it, again and again, and knows and keeps nothing else.
func TestComposeWorkers(t *testing.T) {
	c := compose(t)
	run, worker := c.service(t, "assay"), c.service(t, "worker")
	if len(worker.Profiles) > 0 {
		t.Errorf("up --scale worker=4 refuses a service of profiles %v", worker.Profiles)
	}
	join := slices.Index(worker.Command, "--join") + 1
	if worker.Command[0] != "worker" || join == 0 || join == len(worker.Command) {
		t.Fatalf("the command is %v", worker.Command)
	}
	address, err := identity.ParseAddress(worker.Command[join])
	if err != nil {
		t.Fatal(err)
	}
	if address.URL != "https://"+value(run, "ASSAY_LISTEN") || address.Host != run.Hostname {
		t.Errorf("workers join %s; the host %s listens on %s", address.URL, run.Hostname, value(run, "ASSAY_LISTEN"))
	}
	token := value(worker, "ASSAY_JOIN_TOKEN")
	if err := identity.CheckToken(token); err != nil || token != value(run, "ASSAY_JOIN_TOKEN") {
		t.Errorf("the token is not that of the coordinator, or cannot be used: %v", err)
	}
	if len(worker.Environment) != 1 || len(worker.Volumes) > 0 || len(worker.DependsOn) > 0 {
		t.Errorf("a worker has variables %v, volumes %v, and depends on %v", worker.Environment, worker.Volumes, worker.DependsOn)
	}
	if worker.Restart != types.RestartPolicyUnlessStopped {
		t.Errorf("a worker that has ended with its run is started again %q", worker.Restart)
	}
	if worker.Image != run.Image || worker.User != run.User || strings.HasPrefix(worker.User, "0:") {
		t.Errorf("workers are %s of user %s, the coordinator %s of user %s", worker.Image, worker.User, run.Image, run.User)
	}
}

// TestComposeGrafana: the provisioning is where the image reads it, and what it
// refers to is there.
func TestComposeGrafana(t *testing.T) {
	c := compose(t)
	grafana, influx := c.service(t, "grafana"), c.service(t, "influxdb")
	mounted := map[string]string{}
	for _, v := range grafana.Volumes {
		mounted[v.Target] = v.Source
	}
	const reads = "/etc/grafana/provisioning" // GF_PATHS_PROVISIONING of the image
	var sources struct {
		Datasources []struct {
			URL, User, Database string
			JSONData            struct {
				DBName string `yaml:"dbName"`
			} `yaml:"jsonData"`
			SecureJSONData struct{ Password string } `yaml:"secureJsonData"`
		}
	}
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	for kind, into := range map[string]any{"datasources": &sources, "dashboards": &boards} {
		text, err := oneFile(filepath.Join(mounted[reads], kind))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(text, -1) {
			if value(grafana, m[1]) == "" {
				t.Errorf("%s reads $%s, which the service does not set", kind, m[1])
			}
		}
		text = os.Expand(text, func(name string) string { return value(grafana, name) })
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(sources.Datasources) != 1 || len(boards.Providers) != 1 {
		t.Fatalf("%d datasources and %d providers", len(sources.Datasources), len(boards.Providers))
	}
	d := sources.Datasources[0]
	if d.URL != "http://influxdb:8086" || d.JSONData.DBName != value(influx, "INFLUXDB_DB") {
		t.Errorf("the datasource reads %s of %s", d.JSONData.DBName, d.URL)
	}
	if d.User != value(influx, "INFLUXDB_READ_USER") || d.SecureJSONData.Password != value(influx, "INFLUXDB_READ_USER_PASSWORD") {
		t.Errorf("the datasource logs in as %q, who is not the reader, or with another's password", d.User)
	}
	path := boards.Providers[0].Options.Path
	if mounted[path] == "" {
		t.Fatalf("dashboards are looked for in %s, where nothing is mounted", path)
	}
	if found, err := filepath.Glob(filepath.Join(mounted[path], "*.json")); err != nil || len(found) == 0 {
		t.Errorf("%s holds no dashboard: %v", mounted[path], err)
	}
}

func oneFile(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(found) != 1 {
		return "", errors.Join(err, errors.New(dir+" holds not one file of YAML"))
	}
	text, err := os.ReadFile(found[0])
	return string(text), err
}
