//go:build long

package incluster_test

import "testing"

func TestKubernetes(t *testing.T) {
	s := openShop(t)
	r := s.run(t, nil, inCluster(2)...)
	t.Logf("%d %s %s %v", r.code, r.Verdict, r.Claim, r.broken())
	s.checkClean(t)
}
