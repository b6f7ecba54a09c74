//go:build live

package mysql_test

import (
	"fmt"
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// benchTest is a test on a server, whose state it restores.
type benchTest struct {
	name string
	test func(*testing.T, *bench)
}

// TestLoads runs one load after the other on a server of each flavour, because concurrent
// loads would measure each other. Their commits wait for the disk.
func TestLoads(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, map[string]float64{"mariadb": 0.25, "mysql": 0.3}[flavour])
		sequence([]benchTest{
			{"metadata lock", metadataLock},
			{"commits", commits},
			{"commit of several statements", commitOfSeveralStatements},
			{"hot row", hotRowWaits},
			{"row held by an idle transaction", rowHeldByAnIdleTransaction},
			{"no row lock", noRowLock},
			{"digests of samples and times agree", digestsOfSamplesAndTimesAgree},
			{"clients are told apart", clientsAreToldApart},
			{"first run sees the second", firstRunSeesTheSecond},
			{"user without rights", userWithoutRights},
		})(t, newBench(t, flavour, mysqldtest.Start(t, flavour)))
	})
}

// TestSetup runs the tests that change the instruments and restore them, and those of lost
// connections.
func TestSetup(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, map[string]float64{"mariadb": 0.15, "mysql": 0.2}[flavour])
		trusted := databasetest.NewAuthority(t)
		b := newBench(t, flavour, mysqldtest.StartInMemory(t, flavour, "--performance-schema-session-connect-attrs-size=0", "--ssl-ca="+trusted.Bundle, "--ssl-cert="+trusted.Cert, "--ssl-key="+trusted.Key))
		sequence([]benchTest{
			{"instruments are restored", instrumentsAreRestored},
			{"cancelled start is restored", cancelledStartIsRestored},
			{"failed start is restored", failedStartIsRestored},
			{"two runs at once", twoRunsAtOnce},
			{"run with a guest", runWithAGuest},
			{"runs with some rights", runsWithSomeRights},
			{"runs end at once", runsEndAtOnce},
			{"examining does not count as a run", examiningDoesNotCountAsARun},
			{"killed run is restored", killedRunIsRestored},
			{"killed run is restored by another", killedRunIsRestoredByAnother},
			{"leftovers are examined", leftoversAreExamined},
			{"later changes stay", laterChangesStay},
			{"nothing is on unmarked", nothingIsOnUnmarked},
			{"server refuses", serverRefuses},
			{"killed run is restored as far as rights allow", killedRunIsRestoredAsRightsAllow},
			{"examine", examine},
			{"user of the ledger alone", userOfTheLedgerAlone},
			{"read-only server", readOnlyServer},
			{"statements are not logged", statementsAreNotLogged},
			{"hostile defaults", hostileDefaults},
			{"large answers", largeAnswers},
			{"authority", func(t *testing.T, b *bench) { onlyItsAuthority(t, b, trusted) }},
			{"connection killed", connectionKilled},
			{"abandoned session", abandonedSession},
			{"given up statements", givenUpStatements},
			{"slow start", slowStart},
		})(t, b)
		if flavour == "mariadb" { // the code is the same for both
			t.Run("server stopped", func(t *testing.T) { serverStopped(t, b) })
			t.Run("server gone", func(t *testing.T) { serverGone(t, b) })
		}
	})
}

// sequence runs tests one after the other and resets the instruments after each.
func sequence(all []benchTest) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		before := setupRows(t, b.db)
		for _, one := range all {
			t.Run(one.name, func(t *testing.T) { one.test(t, b) })
			reset(t, b, before)
		}
	}
}

// reset restores the instruments and consumers to their state before.
func reset(t *testing.T, b *bench, before map[string]string) {
	t.Helper()
	mysqldtest.Exec(t, b.db, "DELETE FROM performance_schema.setup_objects WHERE OBJECT_SCHEMA LIKE 'assay%'")
	for _, name := range changed(before, setupRows(t, b.db)) {
		var enabled, timed string
		if _, err := fmt.Sscan(before[name], &enabled, &timed); err != nil {
			t.Fatal(err)
		}
		if timed == "-" {
			timed = "TIMED"
		} else {
			timed = "'" + timed + "'"
		}
		mysqldtest.Exec(
			t, b.db,
			fmt.Sprintf("UPDATE performance_schema.setup_instruments SET ENABLED = '%s', TIMED = %s WHERE NAME = '%s'", enabled, timed, name),
			fmt.Sprintf("UPDATE performance_schema.setup_consumers SET ENABLED = '%s' WHERE NAME = '%s'", enabled, name),
		)
	}
}
