package service

import "assay/harness/observe/metric"

// Pool is a service's pool of database connections at one moment.
type Pool struct {
	Known bool
	Open  int
	Max   int // 0: no limit
}

// PoolIn finds the pool in what a metrics endpoint answered.
func PoolIn(exposition []byte) Pool {
	r, err := parse(exposition)
	if err != nil {
		return Pool{}
	}
	open, known := r[metric.ServicePoolOpen]
	return Pool{Known: known, Open: int(open), Max: int(r[metric.ServicePoolMax])}
}
