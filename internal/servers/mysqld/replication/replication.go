package replication

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
)

// Kind is how the nodes replicate.
type Kind string

// The kinds of replication.
const (
	None   Kind = "none"   // one node
	Binlog Kind = "binlog" // asynchronous, from the writer to the reader
	Galera Kind = "galera"
	Group  Kind = "group-replication" // in multi-primary mode
)

// OfWriters is the kind by which several writers of a flavour replicate.
func OfWriters(f mysqld.Flavour) Kind {
	if f == mysqld.MariaDB {
		return Galera
	}
	return Group
}

// Node is one server.
type Node struct {
	Name     string
	ID       int // from 1, unique
	Port     int // port for clients, on the loopback address
	Group    int // Galera: port for the node's peers
	Transfer int // Galera: port on which the node receives the writes that it missed
	Reader   bool
	// Arbitrator: it only votes. Without one, of two nodes neither would have the
	// majority when the other is lost.
	Arbitrator bool
}

// Set is all nodes that replicate each other.
type Set struct {
	Kind  Kind
	Name  string // any, the same as long as there are data
	Nodes []Node
}

// short is the name of a group as Galera wants it: of at most 32 characters.
func (s Set) short() string { return "assay-" + s.uuid()[:18] }

// uuid is the name of a group as Group Replication wants it.
func (s Set) uuid() string {
	h := sha256.Sum256([]byte(s.Name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// passing matches why a process could not connect to its group, in the words of Galera's
// library: a process has taken the port for its peers since that was chosen; or the thread
// of the connection had not begun yet when its priority was read (gu_thread.cpp,
// thread_get_schedparam), which happens on a busy machine.
var passing = regexp.MustCompile(`gcs connect failed: (Address already in use|No such process)|Failed to open backend connection: -\d+ \((Address already in use|No such process)\)`)

// PassingFailure finds in the error of a server of Galera, or in the log of its arbitrator,
// why it did not start, if it is a reason that may have passed when it is started again;
// else it is empty.
func PassingFailure(text string) string { return passing.FindString(text) }

// The environment variables that name Galera's library and arbitrator, where they are not
// in the usual places.
const (
	ProviderEnv = "ASSAY_GALERA"
	GarbdEnv    = "ASSAY_GARBD"
)

// Provider is the path of Galera's library, which MariaDB loads.
func Provider() (string, error) {
	paths := []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib/galera-4/libgalera_smm.so"}
	if named := os.Getenv(ProviderEnv); named != "" {
		paths = []string{named}
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return filepath.Abs(p)
		}
	}
	return "", hint.With(errors.New("no Galera library (libgalera_smm.so) found"), "install it, e.g. with apt-get install galera-4, or name it in "+ProviderEnv)
}

// Garbd is the path of Galera's arbitrator.
func Garbd() (string, error) {
	name := "garbd"
	if named := os.Getenv(GarbdEnv); named != "" {
		name = named
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", hint.With(fmt.Errorf("no Galera arbitrator found: %w", err), "install it, e.g. with apt-get install galera-arbitrator-4, or name it in "+GarbdEnv)
	}
	return filepath.Abs(path)
}

// transferMethod names the program that Galera runs on both sides when a node joins,
// wsrep_sst_METHOD: even when the node only needs the writes that it missed.
const transferMethod = "assay"

//go:embed wsrep_sst_assay.sh
var transferProgram []byte

// WriteTransfer writes that program into a folder, and returns the variable of the
// environment by which a server finds it.
func WriteTransfer(dir string) (variable string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := renameio.WriteFile(filepath.Join(dir, "wsrep_sst_"+transferMethod), transferProgram, 0o700); err != nil {
		return "", err
	}
	return "PATH=" + dir + ":" + os.Getenv("PATH"), nil
}

// Account is that by which the nodes log in to each other. It is a secret.
type Account struct{ User, Password string }

// Grants are the statements that give the account its privileges, under its quoted name.
func Grants(k Kind, account string) []string {
	switch k {
	case Binlog:
		return []string{"GRANT REPLICATION SLAVE ON *.* TO " + account}
	case Group:
		return []string{"GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO " + account}
	}
	return nil // Galera's peers do not log in
}

// quiet keeps a session's statements, which hold the password, out of the statistics.
const quiet = "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()"

func run(ctx context.Context, db *sql.DB, a Account, statements ...string) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for _, s := range append([]string{quiet}, statements...) {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s", mask.Text(err.Error()))
		}
	}
	return nil
}

// Follow makes a reader, which is a copy of the writer, replicate from it.
func Follow(ctx context.Context, reader *sql.DB, f mysqld.Flavour, port int, a Account) error {
	status, err := replicaStatus(ctx, reader)
	if err == nil {
		err = run(ctx, reader, a, follow(f, status == nil, port, a)...)
	}
	if err != nil {
		return fmt.Errorf("replicate from port %d: %w", port, err)
	}
	return nil
}

// follow: a new MariaDB replica has the writer's binlog up to the copy, and begins behind
// it; MySQL derives the same from its own list of transactions.
func follow(f mysqld.Flavour, fresh bool, port int, a Account) []string {
	if f == mysqld.MySQL {
		return []string{
			"STOP REPLICA",
			fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %d, SOURCE_USER = '%s', SOURCE_PASSWORD = '%s', "+
				"SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400", process.Loopback, port, a.User, a.Password),
			"START REPLICA",
		}
	}
	list := []string{"STOP SLAVE"}
	if fresh {
		list = append(list, "SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos")
	}
	return append(
		list,
		fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %d, MASTER_USER = '%s', MASTER_PASSWORD = '%s', "+
			"MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1", process.Loopback, port, a.User, a.Password),
		"START SLAVE",
	)
}

// JoinGroup makes a server of Group Replication a member: of a new group if it is the
// first one. It returns before the member has received what it lacks.
func JoinGroup(ctx context.Context, db *sql.DB, first bool, a Account) error {
	start := fmt.Sprintf("START GROUP_REPLICATION USER = '%s', PASSWORD = '%s'", a.User, a.Password)
	list := []string{"STOP GROUP_REPLICATION", start} // it may be in the state ERROR
	if first {
		list = []string{"SET GLOBAL group_replication_bootstrap_group = ON", start}
	}
	err := run(ctx, db, a, list...)
	if first {
		// In any case: a later start would make a second group.
		if off := run(ctx, db, a, "SET GLOBAL group_replication_bootstrap_group = OFF"); err == nil {
			err = off
		}
	}
	if err != nil {
		return fmt.Errorf("join group: %w", err)
	}
	return nil
}

// Args are the options of a node's server. provider is Galera's library.
func (s Set) Args(n Node, f mysqld.Flavour, provider string) []string {
	args := []string{"--server-id=" + strconv.Itoa(n.ID)}
	switch s.Kind {
	case Binlog:
		args = append(args, binlog(n, f)...)
	case Galera:
		args = append(args, s.galera(n, provider)...)
	case Group:
		args = append(args, s.group(n)...)
	}
	return args
}

func binlog(n Node, f mysqld.Flavour) []string {
	var args []string
	if f == mysqld.MySQL {
		args = append(args, "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
	} else {
		args = append(args, "--log-slave-updates=ON")
	}
	if n.Reader {
		args = append(args, "--relay-log=relay", "--relay-log-recovery=ON")
		// It is started by a statement, which also names the writer's port.
		if f == mysqld.MySQL {
			args = append(args, "--skip-replica-start=ON", "--super-read-only=ON")
		} else {
			args = append(args, "--skip-slave-start=ON", "--read-only=ON")
		}
	}
	return args
}

// galera leaves Galera's own timeouts as they are: they are part of what is measured.
func (s Set) galera(n Node, provider string) []string {
	options := []string{
		"gmcast.listen_addr=tcp://" + process.Address(n.Group),
		"base_host=" + process.Loopback,
		"base_port=" + strconv.Itoa(n.Group),
		"ist.recv_addr=" + process.Address(n.Transfer),
		// Which node begins a group is decided before the servers start.
		"pc.recovery=false",
		// A node that was away receives the writes that it missed from a peer's cache. The
		// pages are made as they are needed; a ring buffer would take its full size at once.
		"gcache.size=1", "gcache.page_size=32M", "gcache.keep_pages_size=1G",
	}
	return []string{
		"--log-slave-updates=ON",
		"--innodb-autoinc-lock-mode=2", // required
		"--wsrep-on=ON", "--wsrep-provider=" + provider,
		"--wsrep-cluster-name=" + s.short(), "--wsrep-cluster-address=" + s.Address(),
		"--wsrep-node-name=" + n.Name, "--wsrep-node-address=" + process.Loopback,
		"--wsrep-sst-method=" + transferMethod,
		"--wsrep-provider-options=" + strings.Join(options, ";"),
	}
}

// Address is where the nodes of a Galera group find each other.
func (s Set) Address() string {
	var all []string
	for _, n := range s.Nodes {
		all = append(all, process.Address(n.Group))
	}
	return "gcomm://" + strings.Join(all, ",")
}

// group leaves the timeouts of Group Replication as they are, too. The members talk to
// each other through the server's own port: the other way, XCom, listens on all addresses.
func (s Set) group(n Node) []string {
	var seeds []string
	for _, m := range s.Nodes {
		seeds = append(seeds, process.Address(m.Port))
	}
	args := []string{
		"--gtid-mode=ON", "--enforce-gtid-consistency=ON",
		"--report-host=" + process.Loopback, "--report-port=" + strconv.Itoa(n.Port),
		"--plugin-load-add=group_replication.so",
	}
	for _, o := range []string{
		"group-name=" + s.uuid(), "communication-stack=MYSQL",
		"local-address=" + process.Address(n.Port), "group-seeds=" + strings.Join(seeds, ","),
		"start-on-boot=OFF", "bootstrap-group=OFF",
		"single-primary-mode=OFF", "enforce-update-everywhere-checks=ON",
		"recovery-get-public-key=ON",
	} {
		// Without the plugin, when data are initialised, they are unknown.
		args = append(args, "--loose-group-replication-"+o)
	}
	if n.Arbitrator {
		// It has to store what the others write. So that it costs them little, it flushes
		// once a second and measures nothing.
		args = append(args, "--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0", "--innodb-buffer-pool-size=64M",
			"--max-connections=50", "--performance-schema-instrument=%=OFF")
	}
	return args
}

// ArbitratorArgs are the arguments of garbd.
func (s Set) ArbitratorArgs(n Node) []string {
	return []string{
		"--name", n.Name, "--group", s.short(), "--address", s.Address(),
		"--options", fmt.Sprintf("gmcast.listen_addr=tcp://%s;pc.recovery=false", process.Address(n.Group)),
	}
}
