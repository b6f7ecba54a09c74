package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/wire"
)

// descriptors judges the limit on open files, which includes connections, of a process.
func descriptors(have uint64, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { return float64(s.Descriptors()) })
	need := uint64(s.Descriptors())
	c := check{
		CheckDescriptors, fmt.Sprintf("%d per process", have), fmt.Sprintf("%d%s", need, s.forProfile()),
		fmt.Sprintf("ulimit -n %d (as root, or LimitNOFILE= in a unit of systemd)", max(65536, 4*need)),
	}
	const limit = "the limit on open files is %d per process"
	switch {
	case have == 0:
		return c.unknown("the limit on open files cannot be read", "ulimit -n")
	case have < need && s.WorkerVUs == 0:
		return c.fail(limit+", and the coordinator%s needs %d, with connections of %d workers", have, s.forProfile(), need, s.Workers)
	case have < need:
		return c.fail(limit+", and a worker%s needs %d, with connections of %d VUs", have, s.forProfile(), need, s.WorkerVUs)
	case have < need+uint64(s.WorkerVUs):
		return c.warn(limit+": enough%s only if the script connects to a single host", have, s.forProfile())
	}
	return c.pass()
}

// memory judges the available memory, bytes, against the expected memory of all workers.
// free is negative if it is unknown.
func memory(free int64, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { _, heavy := s.Memory(); return float64(heavy) })
	light, heavy := s.Memory()
	c := check{
		CheckMemory, bytesText(free) + " available", fmt.Sprintf("%s to %s%s", bytesText(light), bytesText(heavy), s.forProfile()),
		"free memory, raise the limit that this process has (ulimit -v, cgroup), or plan fewer VUs: by a shorter timeout, or a tighter p(N) of transaction_duration",
	}
	const available = "%s of memory is available, and %d VUs%s "
	switch {
	case free < 0:
		return c.unknown("available memory cannot be read", "free -m")
	case free < light:
		return c.fail(available+"need at least %s", bytesText(free), s.VUs(), s.forProfile(), bytesText(light))
	case free < 2*heavy:
		return c.warn(available+"may need %s", bytesText(free), s.VUs(), s.forProfile(), bytesText(heavy))
	}
	return c.pass()
}

// cpus judges the expected CPU usage of the generator. It only warns: the actual cost of
// a script is known only from a run.
func cpus(have int, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { return s.Peak })
	light, heavy := s.CPUs()
	rate, least, most := quantity.Exact(s.Peak), quantity.Value(light, ""), quantity.Value(heavy, "")
	c := check{
		CheckCPUs, fmt.Sprintf("%d CPUs", have), fmt.Sprintf("%s to %s%s", least, most, s.forProfile()),
		fmt.Sprintf("run nothing else on this machine, or use one with %.0f CPUs", math.Ceil(heavy/rulebook.RecommendedCPU)),
	}
	switch limit := rulebook.RecommendedCPU * float64(have); {
	case light > limit:
		return c.warn("a rate of %s/s%s needs at least %s of %d CPUs, more than half: the run may end INVALID", rate, s.forProfile(), least, have)
	case heavy > limit:
		return c.warn("a rate of %s/s%s may need %s of %d CPUs, if a transaction is more than one simple request", rate, s.forProfile(), most, have)
	}
	return c.pass()
}

// ports judges the local ports left for connections to the target. A script that
// reconnects, by profile, opens new connections all the time; each keeps its port in
// TIME_WAIT after it was closed (include/net/tcp.h: TCP_TIMEWAIT_LEN, 60 s; on loopback
// Linux reuses it after 1 s, net.ipv4.tcp_tw_reuse = 2).
func ports(p Ports, local bool, reconnects map[string]bool, all []Size) Finding {
	timeWait := time.Minute
	if local {
		timeWait = time.Second
	}
	need := func(s Size) int {
		n := s.Connections()
		if reconnects[s.Profile] {
			n += int(s.Peak * timeWait.Seconds())
		}
		return n
	}
	s := largestBy(all, func(s Size) float64 { return float64(need(s)) })
	left := p.High - p.Low + 1 - p.Taken
	c := check{
		CheckPorts, fmt.Sprintf("%d of %d left", left, p.High-p.Low+1), fmt.Sprintf("%d%s", need(s), s.forProfile()),
		`sysctl -w net.ipv4.ip_local_port_range="1024 65535"`,
	}
	switch {
	case p.Low == 0:
		return c.unknown("the range of local ports cannot be read", "sysctl net.ipv4.ip_local_port_range")
	case left < s.Connections():
		return c.fail("%d local ports are left for connections to the target, and the VUs%s need %d", max(0, left), s.forProfile(), s.Connections())
	case left < need(s):
		c.remedy = "sysctl -w net.ipv4.tcp_tw_reuse=1, or leave noConnectionReuse and noVUConnectionReuse out of the script's options"
		return c.warn("%d local ports are left for connections to the target, and a script that reconnects needs %d%s", left, need(s), s.forProfile())
	}
	return c.pass()
}

func folder(f Folder) Finding {
	if f.Err != nil {
		c := check{CheckFolder, reason(f.Err), "a writable folder", "name another folder with --out or --runs"}
		return c.fail("run folder %s cannot be written: %s", f.Path, c.observed)
	}
	return pass(CheckFolder, f.Path+" is writable", "")
}

func disk(f Folder, all []Size) Finding {
	var record, outage, files int64
	for _, s := range all {
		r, o := s.Disk()
		record, outage, files = record+r, outage+o, files+s.Files()
	}
	const elsewhere = "), or name a folder on another disk with --out or --runs"
	c := check{CheckDisk, bytesText(f.Free) + " free", "about " + bytesText(record), "free disk space (df -h " + f.At + elsewhere}
	const space = "the disk of %s has %s free, and the record needs about %s"
	switch {
	case f.Files >= 0 && f.Files < files:
		c = check{CheckDisk, fmt.Sprintf("%d files", f.Files), fmt.Sprintf("%d files", files), "remove files (df -i " + f.At + elsewhere}
		return c.fail("the disk of %s has inodes for %d more files, and the record may need %d", f.Path, f.Files, files)
	case f.Free < 0:
		return c.unknown("the free space of "+f.Path+" cannot be read", "df -h "+f.At)
	case f.Free < record:
		return c.fail(space, f.Path, bytesText(f.Free), bytesText(record))
	case f.Free < outage:
		return c.warn(space+" if every transaction fails and is logged", f.Path, bytesText(f.Free), bytesText(outage))
	}
	return c.pass()
}

// CheckWorker is the check of a worker that has joined.
const CheckWorker = "worker"

// Worker judges whether the machine of a worker that has joined carries the worker's
// share of the plan, in descriptors, memory and CPUs. The number in a remedy is what
// would do. Another worker on the same machine is not considered.
func Worker(l Load, number int, m wire.Machine) Findings {
	s := SizeOf(l)
	w := l.Plan.Workers[number]
	s.Workers, s.WorkerVUs, s.Peak = 1, w.VUs, s.Peak*w.Share
	all := []Size{s}
	found := Findings{descriptors(m.Descriptors, all), memory(m.Available, all)}
	light, _ := s.CPUs()
	if light <= float64(m.CPUs) {
		return append(found, cpus(m.CPUs, all))
	}
	// More workers with smaller shares: each has a fixed cost, and the rest of its CPUs
	// for transactions.
	need := int(math.Ceil(l.Plan.Peak() * lightTransaction / (float64(m.CPUs) - idleWorkerCPU)))
	return append(found, fail(CheckWorker, fmt.Sprintf("%d CPUs", m.CPUs), quantity.Value(light, "")+" CPUs",
		fmt.Sprintf("its share, %s/s, needs at least %s CPUs, and it has %d", quantity.Exact(s.Peak), quantity.Value(light, ""), m.CPUs),
		fmt.Sprintf("use %d workers like it, or machines with %.0f CPUs, or shares by CPUs: --weights cpus", max(need, len(l.Plan.Workers)+1), math.Ceil(light))))
}

// clock judges whether this host's clock is synchronised. That does not matter if nothing
// is on another host.
func clock(o Clock, remote []string) Finding {
	c := check{CheckClock, "synchronised, error at most " + durationText(o.MaxError), "any: all is on this host", "timedatectl set-ntp true (or chronyc makestep)"}
	if len(remote) > 0 {
		c.needed = "synchronised"
	}
	state := "possibly not synchronised"
	switch {
	case !o.Known:
		c.observed = "not known"
	case !o.Synchronised:
		c.observed, state = "not synchronised", "not synchronised"
	}
	if o.Known && o.Synchronised || len(remote) == 0 {
		return c.pass()
	}
	verb := "is"
	if len(remote) > 1 {
		verb = "are"
	}
	return c.warn("the clock of this host is %s, and the %s %s on another host: their times cannot be compared", state, strings.Join(remote, " and the "), verb)
}

// databaseClock judges the offset of the database's clock from this host's if an SLO
// depends on it, that is on persist_lag; otherwise it is not judged.
func databaseClock(o database.Offset, loads []Load) (_ Finding, judged bool) {
	tightest := math.Inf(1)
	for _, l := range loads {
		for _, s := range l.Profile.AllSLOs() {
			if s.Metric == metric.PersistLag {
				tightest = min(tightest, s.Bound)
			}
		}
	}
	if math.IsInf(tightest, 1) {
		return Finding{}, false
	}
	limit := time.Duration(rulebook.ClockShare * tightest * float64(time.Millisecond))
	offset := durationText(o.Ahead.Abs()) + " ahead of"
	if o.Ahead < 0 {
		offset = durationText(o.Ahead.Abs()) + " behind"
	}
	c := check{
		CheckDBClock, fmt.Sprintf("%s this host (±%s)", offset, durationText(o.Uncertainty)), "within " + durationText(limit),
		"timedatectl set-ntp true, on both hosts",
	}
	switch {
	case !o.Known:
		return c.unknown("the clock of the database cannot be read, and persist_lag is judged", c.remedy), true
	case o.Ahead.Abs() <= limit:
		return c.pass(), true
	}
	f := c.warn("the clock of the database is %s: more than a tenth of the bound on persist_lag, %s", c.observed, quantity.Limit(tightest, "ms"))
	f.Limitation = f.Why
	return f, true
}

// Clock is the state of this host's clock, by the kernel.
type Clock struct {
	Known        bool
	Synchronised bool
	MaxError     time.Duration
}

// examineClock reads the state of the clock; it needs no privilege (adjtimex(2), modes 0).
func examineClock() Clock {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return Clock{}
	}
	return Clock{Known: true, Synchronised: t.Status&unix.STA_UNSYNC == 0, MaxError: time.Duration(t.Maxerror) * time.Microsecond}
}

// Folder is the state of a run folder.
type Folder struct {
	Path string
	At   string // the nearest existing folder, Path or a parent
	Err  error  // why nothing can be written there
	Free int64  // bytes; -1: unknown

	Files int64 // files that can still be made (free inodes); -1: unknown, or not limited
}

// ExamineFolder makes a temporary folder in dir, or in its nearest existing parent,
// writes a file in it, and removes both. Checking permissions would not be enough: root
// may write anywhere, but not to a read-only file system.
func ExamineFolder(dir string) Folder {
	f := Folder{Path: dir, Free: -1, Files: -1}
	at, err := existing(dir)
	if err == nil {
		err = tryToWrite(at)
	}
	f.At, f.Err = at, err
	var stat unix.Statfs_t
	if unix.Statfs(at, &stat) == nil {
		f.Free = int64(stat.Bavail) * stat.Bsize
		if stat.Files > 0 { // btrfs and others make inodes as they are needed
			f.Files = int64(stat.Ffree)
		}
	}
	return f
}

// existing is dir, or its nearest existing parent.
func existing(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return dir, err
	}
	for {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if _, there := os.Lstat(at); there == nil { // a link to nothing: no folder can be made there
				return at, err
			}
			at = filepath.Dir(at)
			continue
		case err != nil:
			return at, err
		case !info.IsDir():
			return at, fmt.Errorf("%s: not a directory", at)
		}
		return at, nil
	}
}

func tryToWrite(dir string) error {
	temp, err := os.MkdirTemp(dir, ".assay-doctor-*")
	if err != nil {
		return err
	}
	// On a full disk an empty file may still be created: write content.
	err = os.WriteFile(filepath.Join(temp, "tried"), []byte("assay"), 0o600)
	return errors.Join(err, os.RemoveAll(temp))
}

// Ports are the local ports for connections to one address.
type Ports struct {
	Low, High int // ends of the range; 0: unknown
	Taken     int // by connections to the target, open or in TIME_WAIT
}

// examinePorts reads the range of local ports.
func examinePorts() (p Ports) {
	if proc, err := procfs.NewDefaultFS(); err == nil {
		p.Low, p.High = host.PortRange(proc)
	}
	return p
}

// taken counts the connections from this machine to one of the addresses that hold a
// local port. If the table of connections cannot be read it returns 0. The tables are
// those of the folder /proc, or of a copy.
func taken(proc string, ips []net.IP, port int) (n int) {
	var to []netip.AddrPort
	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok {
			to = append(to, netip.AddrPortFrom(a.Unmap(), uint16(port)))
		}
	}
	all, _ := host.Sockets(proc)
	for _, s := range all {
		if (s.State == host.Established || s.State == host.TimeWait) && slices.Contains(to, s.Remote) {
			n++
		}
	}
	return n
}
