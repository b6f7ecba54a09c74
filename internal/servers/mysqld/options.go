package mysqld

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"assay.dev/assay/internal/servers/process"
)

// Options say which server to start, and where.
type Options struct {
	Dir    string   // holds data, log, socket and password; made if missing
	Port   int      // on 127.0.0.1; 0 = a free one
	Binary Binary   // zero = Choose
	Args   []string // further server options, as --name=value; they override the stack's
	Detach bool     // the server outlives this process
	Group  uint32   // group id of the process; 0 = that of this process
	Env    []string // further variables of its environment
}

// reserved options would make the server leave its folder or the loopback address,
// or replace an option that Start relies on.
var reserved = []string{
	"bind-address", "port", "socket", "datadir", "pid-file", "basedir", "tmpdir", "log-error", "user",
	"init-file", "daemonize", "skip-networking", "skip-grant-tables", "no-defaults",
	"defaults-file", "defaults-extra-file", "defaults-group-suffix", "initialize", "initialize-insecure", "bootstrap",
}

// creation options apply when a data folder is initialised; the server refuses to
// start later with another value.
var creation = []string{
	"innodb-page-size", "innodb-data-file-path", "innodb-undo-tablespaces", "lower-case-table-names",
}

// CreationArgs returns those server options that apply when a data folder is
// initialised.
func CreationArgs(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return !slices.Contains(creation, optionName(arg))
	})
}

// checkArgs refuses malformed and reserved options.
func checkArgs(args []string) error {
	for _, arg := range args {
		name := optionName(arg)
		if name == "" {
			return fmt.Errorf("server option %q: want --name=value", arg)
		}
		if slices.Contains(reserved, name) {
			return fmt.Errorf("server option %q: --%s is set by the stack", arg, name)
		}
	}
	return nil
}

// optionName returns the name in --name=value as the manuals write it; the
// servers take underscores as well.
func optionName(arg string) string {
	name, ok := strings.CutPrefix(arg, "--")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "=")
	return strings.TrimPrefix(strings.ReplaceAll(name, "_", "-"), "loose-")
}

// isolated returns the first arguments of every command line of a server.
func isolated() []string {
	args := []string{"--no-defaults"} // must be the very first
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // required to run as root
	}
	return args
}

// serverArgs is the command line of a running server. Durability is that of production
// (redo log and binlog are flushed at every commit), so that commit waits are too.
func serverArgs(l layout, port int, flavour Flavour, extra []string) []string {
	args := append(
		isolated(),
		"--datadir="+l.data(), "--tmpdir="+l.tmp(), "--pid-file="+l.pid(), "--socket="+l.socket(),
		// Debian's MySQL does not start if its default folder does not exist.
		"--secure-file-priv="+l.tmp(),
		"--bind-address="+process.Loopback, "--port="+strconv.Itoa(port),
		"--skip-name-resolve",
		"--max-connections=500", "--max-connect-errors=1000000",
		"--performance-schema=ON",
		"--server-id=1", "--log-bin=binlog", "--sync-binlog=1",
		"--innodb-flush-log-at-trx-commit=1",
		// A soak test writes gigabytes of binlog an hour, which MariaDB keeps by
		// default.
		"--max-binlog-size=128M", "--binlog-expire-logs-seconds=21600",
		"--innodb-buffer-pool-size=256M",
		"--table-open-cache=2000", "--table-definition-cache=1400",
		"--character-set-server=utf8mb4",
		// The ledger compares times, which must not depend on the machine's zone.
		"--default-time-zone=+00:00",
	)
	switch flavour {
	case MySQL:
		args = append(args, "--mysqlx=OFF") // would listen on another port
	case MariaDB:
		args = append(args, "--loose-feedback=OFF", "--binlog-format=ROW")
	}
	return append(args, extra...)
}
