package probe

import "github.com/prometheus/procfs"

// Ports are the local ports for connections to one address.
type Ports struct {
	Low, High int // of the range; 0: unknown
	Taken     int // by connections to the target, open or in TIME_WAIT
}

// ExaminePorts reads the range of local ports.
func ExaminePorts() (p Ports) {
	if proc, err := procfs.NewDefaultFS(); err == nil {
		p.Low, p.High = portRange(proc)
	}
	return p
}

func portRange(proc procfs.FS) (low, high int) {
	ends, err := proc.SysctlInts("net/ipv4/ip_local_port_range")
	if err != nil || len(ends) != 2 || ends[0] > ends[1] {
		return 0, 0
	}
	return ends[0], ends[1]
}
