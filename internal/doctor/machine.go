package doctor

import (
	"fmt"
	"math"
	"time"

	"assay.dev/assay/internal/doctor/probe"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/rulebook"
)

// descriptors judges the limit on open files, which includes connections, of a process.
func descriptors(have uint64, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { return float64(s.Descriptors()) })
	need := uint64(s.Descriptors())
	needed := fmt.Sprintf("%d%s", need, s.forProfile())
	remedy := fmt.Sprintf("ulimit -n %d (as root, or LimitNOFILE= in a unit of systemd)", max(65536, 4*need))
	switch observed := fmt.Sprintf("%d per process", have); {
	case have == 0:
		return warn(CheckDescriptors, "not known", needed, "the limit on open files cannot be read", "ulimit -n")
	case have < need:
		who, why := "a worker", fmt.Sprintf("with connections of %d VUs", s.WorkerVUs)
		if s.WorkerVUs == 0 {
			who, why = "the coordinator", fmt.Sprintf("with connections of %d workers", s.Workers)
		}
		return fail(CheckDescriptors, observed, needed, fmt.Sprintf(
			"the limit on open files is %d per process, and %s%s needs %d, %s", have, who, s.forProfile(), need, why,
		), remedy)
	case have < need+uint64(s.WorkerVUs):
		return warn(CheckDescriptors, observed, needed, fmt.Sprintf(
			"the limit on open files is %d per process: enough%s only if the script connects to a single host", have, s.forProfile(),
		), remedy)
	default:
		return pass(CheckDescriptors, observed, needed)
	}
}

// memory judges the available memory, bytes, against the expected memory of all workers.
// free is negative if it is unknown.
func memory(free int64, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { _, heavy := s.Memory(); return float64(heavy) })
	light, heavy := s.Memory()
	needed := fmt.Sprintf("%s to %s%s", bytesText(light), bytesText(heavy), s.forProfile())
	remedy := "free memory, raise the limit that this process has (ulimit -v, cgroup), or plan fewer VUs: by a shorter timeout, or a tighter p(N) of transaction_duration"
	switch observed := bytesText(free) + " available"; {
	case free < 0:
		return warn(CheckMemory, "not known", needed, "available memory cannot be read", "free -m")
	case free < light:
		return fail(CheckMemory, observed, needed, fmt.Sprintf(
			"%s of memory is available, and %d VUs%s need at least %s", bytesText(free), s.VUs(), s.forProfile(), bytesText(light),
		), remedy)
	case free < 2*heavy:
		return warn(CheckMemory, observed, needed, fmt.Sprintf(
			"%s of memory is available, and %d VUs%s may need %s", bytesText(free), s.VUs(), s.forProfile(), bytesText(heavy),
		), remedy)
	default:
		return pass(CheckMemory, observed, needed)
	}
}

// cpus judges the expected CPU usage of the generator. It only warns: the actual cost of
// a script is known only from a run.
func cpus(have int, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { return s.Peak })
	light, heavy := s.CPUs()
	rate, least, most := quantity.Exact(s.Peak), quantity.Value(light, ""), quantity.Value(heavy, "")
	observed, needed := fmt.Sprintf("%d CPUs", have), fmt.Sprintf("%s to %s%s", least, most, s.forProfile())
	remedy := fmt.Sprintf("run nothing else on this machine, or use one with %.0f CPUs", math.Ceil(heavy/rulebook.RecommendedCPU))
	switch limit := rulebook.RecommendedCPU * float64(have); {
	case light > limit:
		return warn(CheckCPUs, observed, needed, fmt.Sprintf(
			"a rate of %s/s%s needs at least %s of %d CPUs, more than half: the run may end INVALID", rate, s.forProfile(), least, have,
		), remedy)
	case heavy > limit:
		return warn(CheckCPUs, observed, needed, fmt.Sprintf(
			"a rate of %s/s%s may need %s of %d CPUs, if a transaction is more than one simple request", rate, s.forProfile(), most, have,
		), remedy)
	default:
		return pass(CheckCPUs, observed, needed)
	}
}

// ports judges the local ports left for connections to the target. A script that
// reconnects, by profile, opens new connections all the time; each keeps its port in
// TIME_WAIT after it was closed (include/net/tcp.h: TCP_TIMEWAIT_LEN, 60 s; on loopback
// Linux reuses it after 1 s, net.ipv4.tcp_tw_reuse = 2).
func ports(p probe.Ports, local bool, reconnects map[string]bool, all []Size) Finding {
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
	needed := fmt.Sprintf("%d%s", need(s), s.forProfile())
	if p.Low == 0 {
		return warn(CheckPorts, "not known", needed, "the range of local ports cannot be read", "sysctl net.ipv4.ip_local_port_range")
	}
	left := p.High - p.Low + 1 - p.Taken
	observed := fmt.Sprintf("%d of %d left", left, p.High-p.Low+1)
	switch remedy := `sysctl -w net.ipv4.ip_local_port_range="1024 65535"`; {
	case left < s.Connections():
		return fail(CheckPorts, observed, needed, fmt.Sprintf(
			"%d local ports are left for connections to the target, and the VUs%s need %d", max(0, left), s.forProfile(), s.Connections(),
		), remedy)
	case left < need(s):
		return warn(CheckPorts, observed, needed, fmt.Sprintf(
			"%d local ports are left for connections to the target, and a script that reconnects needs %d%s", left, need(s), s.forProfile(),
		),
			"sysctl -w net.ipv4.tcp_tw_reuse=1, or leave noConnectionReuse and noVUConnectionReuse out of the script's options")
	default:
		return pass(CheckPorts, observed, needed)
	}
}

// folder judges whether the record can be written.
func folder(f probe.Folder) Finding {
	if f.Err != nil {
		why := reason(f.Err)
		return fail(CheckFolder, why, "a writable folder",
			fmt.Sprintf("run folder %s cannot be written: %s", f.Path, why), "name another folder with --out or --runs")
	}
	return pass(CheckFolder, f.Path+" is writable", "")
}

// disk judges the free disk space for the records of all runs.
func disk(f probe.Folder, all []Size) Finding {
	var record, outage, files int64
	for _, s := range all {
		r, o := s.Disk()
		record, outage, files = record+r, outage+o, files+s.Files()
	}
	needed := "about " + bytesText(record)
	remedy := "free disk space (df -h " + f.At + "), or name a folder on another disk with --out or --runs"
	switch observed := bytesText(f.Free) + " free"; {
	case f.Files >= 0 && f.Files < files:
		return fail(CheckDisk, fmt.Sprintf("%d files", f.Files), fmt.Sprintf("%d files", files), fmt.Sprintf(
			"the disk of %s has inodes for %d more files, and the record may need %d", f.Path, f.Files, files,
		), "remove files (df -i "+f.At+"), or name a folder on another disk with --out or --runs")
	case f.Free < 0:
		return warn(CheckDisk, "not known", needed, "the free space of "+f.Path+" cannot be read", "df -h "+f.At)
	case f.Free < record:
		return fail(CheckDisk, observed, needed, fmt.Sprintf(
			"the disk of %s has %s free, and the record needs about %s", f.Path, bytesText(f.Free), bytesText(record),
		), remedy)
	case f.Free < outage:
		return warn(CheckDisk, observed, needed, fmt.Sprintf(
			"the disk of %s has %s free, and the record needs about %s if every transaction fails and is logged", f.Path, bytesText(f.Free), bytesText(outage),
		), remedy)
	default:
		return pass(CheckDisk, observed, needed)
	}
}
