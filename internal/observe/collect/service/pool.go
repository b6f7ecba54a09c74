package service

import "assay.dev/assay/internal/observe/metric"

// Pool is a service's pool of database connections at one moment.
type Pool struct {
	Known bool // the exposition has metrics of a pool
	Open  int
	Max   int // 0: no limit
}

// PoolIn finds the pool in an exposition. Several pools are added up.
func PoolIn(exposition []byte) Pool {
	s, err := read(exposition)
	if err != nil {
		return Pool{}
	}
	open, known := s.reading[metric.ServicePoolOpen]
	return Pool{Known: known, Open: int(open), Max: int(s.reading[metric.ServicePoolMax])}
}
