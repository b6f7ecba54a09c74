package service

import "assay/harness/observe/metric"

// Pool is a service's pool of database connections at one moment.
type Pool struct {
	Known bool
	Open  int
	Max   int // 0: no limit
}

// PoolIn finds the pool in what a metrics endpoint answered.
func PoolIn(exposition []byte) (p Pool) {
	r, err := parse(exposition)
	if err != nil {
		return Pool{}
	}
	for i, s := range sources {
		switch s.name {
		case metric.ServicePoolOpen:
			p.Open, p.Known = int(r.values[i]), r.found[i]
		case metric.ServicePoolMax:
			p.Max = int(r.values[i])
		}
	}
	return p
}
