package doctor

import (
	"fmt"
	"math"
	"time"

	"assay/harness/doctor/probe"
	"assay/harness/spec"
)

// descriptors judges how many files and connections a process may hold.
func descriptors(have uint64, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { return float64(s.Descriptors()) })
	need := uint64(s.Descriptors())
	needed := fmt.Sprintf("%d%s", need, s.of())
	remedy := fmt.Sprintf("ulimit -n %d (as root, or LimitNOFILE= in a unit of systemd)", max(65536, 4*need))
	switch observed := fmt.Sprintf("%d a process", have); {
	case have == 0:
		return doubtful(CheckDescriptors, "not known", needed, "the limit on open files cannot be read", "ulimit -n")
	case have < need:
		return bad(CheckDescriptors, observed, needed, fmt.Sprintf(
			"a process may hold %d files and connections open, and a worker%s needs %d: one for each of its %d VUs' connections, and %d",
			have, s.of(), need, s.WorkerVUs, ownDescriptors,
		), remedy)
	case have < need+uint64(s.WorkerVUs):
		return doubtful(CheckDescriptors, observed, needed, fmt.Sprintf(
			"a process may hold %d files and connections open: enough%s only if the script talks to one host", have, s.of(),
		), remedy)
	default:
		return fine(CheckDescriptors, observed, needed)
	}
}

// memory judges what is free against what the VUs of all workers take.
func memory(free int64, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { _, heavy := s.Memory(); return float64(heavy) })
	light, heavy := s.Memory()
	needed := fmt.Sprintf("%s to %s%s", bytesText(light), bytesText(heavy), s.of())
	remedy := "free memory, or need fewer VUs: a shorter time-out, or a tighter p(N) of transaction_duration"
	switch observed := bytesText(free) + " available"; {
	case free == 0:
		return doubtful(CheckMemory, "not known", needed, "available memory cannot be read", "free -m")
	case free < light:
		return bad(CheckMemory, observed, needed, fmt.Sprintf(
			"%s of memory are available, and %d VUs%s take at least %s", bytesText(free), s.VUs(), s.of(), bytesText(light),
		), remedy)
	case free < 2*heavy:
		return doubtful(CheckMemory, observed, needed, fmt.Sprintf(
			"%s of memory are available, and %d VUs%s may take %s", bytesText(free), s.VUs(), s.of(), bytesText(heavy),
		), remedy)
	default:
		return fine(CheckMemory, observed, needed)
	}
}

// cpus judges what the generator is expected to take. It never refuses: how
// much a script costs is known once it has run.
func cpus(have int, all []Size) Finding {
	s := largestBy(all, func(s Size) float64 { return s.Peak })
	light, heavy := s.CPUs()
	observed, needed := fmt.Sprintf("%d CPUs", have), fmt.Sprintf("%.2g to %.2g%s", light, heavy, s.of())
	remedy := fmt.Sprintf("let nothing else run here, or take a machine with %.0f CPUs", math.Ceil(heavy/spec.RecommendedCPU))
	switch limit := spec.RecommendedCPU * float64(have); {
	case light > limit:
		return doubtful(CheckCPUs, observed, needed, fmt.Sprintf(
			"%g/s%s take at least %.2g of %d CPUs, more than half: the run may end INVALID", s.Peak, s.of(), light, have,
		), remedy)
	case heavy > limit:
		return doubtful(CheckCPUs, observed, needed, fmt.Sprintf(
			"%g/s%s take up to %.2g of %d CPUs, where the script does more than one simple request", s.Peak, s.of(), heavy, have,
		), remedy)
	default:
		return fine(CheckCPUs, observed, needed)
	}
}

// ports judges the local ports left for connections to the target. reconnects:
// a script opens new connections all the time, and each leaves its port taken
// for a while (include/net/tcp.h: TCP_TIMEWAIT_LEN, 60 s; on loopback Linux
// takes it again after 1 s, net.ipv4.tcp_tw_reuse = 2).
func ports(p probe.Ports, here bool, reconnects map[string]bool, all []Size) Finding {
	wait := time.Minute
	if here {
		wait = time.Second
	}
	need := func(s Size) int {
		n := s.Connections()
		if reconnects[s.Profile] {
			n += int(s.Peak * wait.Seconds())
		}
		return n
	}
	s := largestBy(all, func(s Size) float64 { return float64(need(s)) })
	needed := fmt.Sprintf("%d%s", need(s), s.of())
	if p.Low == 0 {
		return doubtful(CheckPorts, "not known", needed, "the range of local ports cannot be read", "sysctl net.ipv4.ip_local_port_range")
	}
	left := p.High - p.Low + 1 - p.Taken
	observed := fmt.Sprintf("%d of %d left", left, p.High-p.Low+1)
	switch remedy := `sysctl -w net.ipv4.ip_local_port_range="1024 65535"`; {
	case left < s.Connections():
		return bad(CheckPorts, observed, needed, fmt.Sprintf(
			"%d local ports are left for connections to the target, and the VUs%s keep %d", max(0, left), s.of(), s.Connections(),
		), remedy)
	case left < need(s):
		return doubtful(CheckPorts, observed, needed, fmt.Sprintf(
			"%d local ports are left for connections to the target, and a script that does not keep them needs %d%s", left, need(s), s.of(),
		),
			"sysctl -w net.ipv4.tcp_tw_reuse=1, or leave noConnectionReuse and noVUConnectionReuse out of the script's options")
	default:
		return fine(CheckPorts, observed, needed)
	}
}

// folder judges whether a record can be written.
func folder(f probe.Folder) Finding {
	if f.Err != nil {
		why := reason(f.Err)
		return bad(CheckFolder, why, "a folder to write to",
			fmt.Sprintf("run folder %s cannot be written: %s", f.Path, why), "name another folder with --out or --runs")
	}
	return fine(CheckFolder, f.Path+" can be written", "")
}

// disk judges the room for the records of all that is to be run.
func disk(f probe.Folder, all []Size) Finding {
	var record, outage int64
	for _, s := range all {
		r, o := s.Disk()
		record, outage = record+r, outage+o
	}
	needed := "about " + bytesText(record)
	remedy := "make room (df -h " + f.Path + "), or name a folder on another disk with --out or --runs"
	switch observed := bytesText(f.Free) + " free"; {
	case f.Free < 0:
		return doubtful(CheckDisk, "not known", needed, "free room of "+f.Path+" cannot be read", "df -h "+f.Path)
	case f.Free < record:
		return bad(CheckDisk, observed, needed, fmt.Sprintf(
			"disk of %s has %s free, and the record takes about %s", f.Path, bytesText(f.Free), bytesText(record),
		), remedy)
	case f.Free < outage:
		return doubtful(CheckDisk, observed, needed, fmt.Sprintf(
			"disk of %s has %s free, and the record takes about %s where every transaction fails and is logged", f.Path, bytesText(f.Free), bytesText(outage),
		), remedy)
	default:
		return fine(CheckDisk, observed, needed)
	}
}
