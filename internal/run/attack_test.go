//go:build long

package run_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/testing/attacktest"
	"assay.dev/assay/internal/wire"
)

// Under attack from a host without the run's token, with a thousand wrong tokens a
// second, bodies of a gigabyte, slow clients and ten thousand connections, the run is
// unharmed, and nothing is lost.
func TestLongCoordinatorUnderAttack(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := newSite(t, answering)
		attacker := s.network.Host("attacker")
		c := s.certify(loose(steady(60, 20*time.Second)), 2, nil)
		c.workers(2)
		c.await("tick hold 1")
		a := attacktest.Attack{Address: c.options.Join.Listen, TLS: &tls.Config{InsecureSkipVerify: true}, Dial: attacker.DialContext}
		plain := a
		plain.TLS = nil
		const length = 10 * time.Second
		var mu sync.Mutex
		ends := map[string]attacktest.Ends{}
		var attacks sync.WaitGroup
		for name, attack := range map[string]func(context.Context) (attacktest.Ends, error){
			"wrong tokens": func(ctx context.Context) (attacktest.Ends, error) {
				return a.WrongTokens(ctx, wire.PathMetrics, 1000, length)
			},
			"connections":  func(ctx context.Context) (attacktest.Ends, error) { return plain.Idle(ctx, 10_000, length) },
			"slow headers": func(ctx context.Context) (attacktest.Ends, error) { return a.SlowHeaders(ctx, 200, length) },
			"a gigabyte": func(ctx context.Context) (attacktest.Ends, error) {
				end, sent, err := a.Body(ctx, wire.PathMetrics, http.Header{"Authorization": {"Bearer wrong"}}, 1<<30, length)
				if sent > 16<<20 {
					t.Errorf("the coordinator took %d bytes from a stranger", sent)
				}
				return end, err
			},
			"a gigabyte with the token": func(ctx context.Context) (attacktest.Ends, error) {
				end, sent, err := a.Body(ctx, wire.PathHeartbeat, http.Header{"Authorization": {"Bearer " + joinToken}}, 1<<30, length)
				if sent > 16<<20 {
					t.Errorf("the coordinator took %d bytes for a path that needs none", sent)
				}
				return end, err
			},
		} {
			attacks.Go(func() {
				end, err := attack(t.Context())
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ends[name] = end
			})
		}
		attacks.Wait()
		for name, end := range ends {
			t.Logf("%s: %+v", name, end)
			for status := range end.Status {
				if status < 400 {
					t.Errorf("%s: %d answers with status %d", name, end.Status[status], status)
				}
			}
		}
		r := c.wait()
		checkNothingLost(t, c, r)
		v := verdict.Judge(r)
		if !strings.Contains(strings.Join(v.Limitations, "\n"), "connections were refused") {
			t.Errorf("the attack is not in the limitations: %q", v.Limitations)
		}
		return v
	})
}
