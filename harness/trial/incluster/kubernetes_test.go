//go:build long

package incluster_test

import "testing"

func TestKubernetes(t *testing.T) {
	s := openShop(t)
	s.InstallK6Operator(t)
	r := s.run(t, nil, inCluster(2, "--engine", "k6-operator")...)
	t.Logf("%d %s %s %v %+v", r.code, r.Verdict, r.Claim, r.broken(), r.certificate)
	s.checkClean(t)
}
