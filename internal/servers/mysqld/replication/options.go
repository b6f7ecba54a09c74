package replication

import (
	"fmt"
	"strconv"
	"strings"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
)

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
