//go:build long

package run_test

import "testing"

// alone: tests have the machine for themselves.
const alone = true

// flavours are the database servers of tests that do the same with each.
var flavours = []string{"mariadb", "mysql"}

// The runs that make test makes beside others have their outcome when they are alone, in
// all cases of their kind and on all servers.
func TestLongVerdicts(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"abort on sessions":              TestAbortOnSessions,
		"end of a queueing service":      TestEndOfAQueueingService,
		"generator stalls":               TestGeneratorStallsInvalidate,
		"payments":                       TestPaymentsOnBothServers,
		"queue depth":                    TestQueueDepth,
		"several workers":                TestSeveralWorkers,
		"slow stub":                      TestSlowStub,
		"stop after the start":           TestStopAfterStartSealsRecord,
		"view without its server":        TestViewWithoutServer,
		"workers that cannot be removed": TestWorkersThatCannotBeRemoved,
	} {
		t.Run(name, test)
	}
}
