//go:build long

package verdict

import (
	"testing"

	"assay.dev/assay/internal/testing/property"
)

func TestLongProperties(t *testing.T) {
	property.Many(t, map[string]func(*testing.T){
		"ForeignViolationsBracketTheTruth": TestForeignViolationsBracketTheTruth,
		"OverloadIsMeasured":               TestOverloadIsMeasured,
		"DroppedFramesNeverMakeAPass":      TestDroppedFramesNeverMakeAPass,
		"GeneratorLagNeverTurnsTheVerdict": TestGeneratorLagNeverTurnsTheVerdict,
		"IntervalsContainTheCount":         TestIntervalsContainTheCount,
		"StricterNeverTurnsFailIntoPass":   TestStricterNeverTurnsFailIntoPass,
		"Sums":                             TestSums,
		"TighteningNeverTurnsFailIntoPass": TestTighteningNeverTurnsFailIntoPass,
		"VerdictIsAFunctionOfTheRecord":    TestVerdictIsAFunctionOfTheRecord,
		"RecoveryBounds":                   TestRecoveryBounds,
		"CausesChangeNoOutcomeWithoutPods": TestCausesChangeNoOutcomeWithoutPods,
		"PodsNeverImproveTheOutcome":       TestPodsNeverImproveTheOutcome,
		"ScaledCounts":                     TestScaledCounts,
		"GaugeProperties":                  TestGaugeProperties,
		"ListedTransactions":               TestListedTransactions,
	})
}

func TestLongEqualWorkersAreAlike(t *testing.T) { equalWorkersAreAlike(t, 40) }

func TestLongMatrix(t *testing.T) { matrix(t, 8) }

func TestLongSteadyCalibration(t *testing.T) { calibrateSteady(t, 20) }
