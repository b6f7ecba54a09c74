package mysql_test

import (
	"fmt"
	"testing"

	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/mysqldtest"
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
	onFlavours(t, mysqldtest.Start, sequence([]benchTest{
		{"metadata lock", metadataLock},
		{"commits", commits},
		{"commit of several statements", commitOfSeveralStatements},
		{"hot row", hotRowWaits},
		{"row held by an idle transaction", rowHeldByAnIdleTransaction},
		{"no row lock", noRowLock},
		{"digests of samples and times agree", digestsOfSamplesAndTimesAgree},
		{"clients are told apart", clientsAreToldApart},
		{"first run sees the second", firstRunSeesTheSecond},
	}))
}

// TestSetup runs the tests that change the instruments and restore them.
func TestSetup(t *testing.T) {
	t.Parallel()
	eachFlavour(t, sequence([]benchTest{
		{"instruments are restored", instrumentsAreRestored},
		{"cancelled start is restored", cancelledStartIsRestored},
		{"two runs at once", twoRunsAtOnce},
		{"two runs with separate journals", twoRunsWithSeparateJournals},
		{"runs end at once", runsEndAtOnce},
		{"examining does not count as a run", examiningDoesNotCountAsARun},
		{"killed run is restored", killedRunIsRestored},
		{"killed run is restored as far as rights allow", killedRunIsRestoredAsRightsAllow},
		{"examine", examine},
		{"user without any rights", userWithoutAnyRights},
	}))
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

// eachFlavour runs a test in parallel on a server of each flavour with its data in
// memory.
func eachFlavour(t *testing.T, f func(t *testing.T, b *bench)) {
	t.Helper()
	onFlavours(t, mysqldtest.StartInMemory, f)
}

func onFlavours(t *testing.T, start func(testing.TB, string, ...string) *mysqld.Server, f func(t *testing.T, b *bench)) {
	t.Helper()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		f(t, newBench(t, flavour, start(t, flavour).DSN()))
	})
}
