//go:build long

package record

import (
	"testing"

	"assay.dev/assay/internal/testing/budget"
)

func TestLongLedgerNeedsLittleMemory(t *testing.T) {
	budget.CPUs(t, 1)
	ledgerNeedsLittleMemory(t, 2_000_000, maxIdentities, 50<<20)
}

func TestLongExemplarsNeedLittleMemory(t *testing.T) {
	budget.CPUs(t, 1)
	exemplarsNeedLittleMemory(t, 2000)
}

func TestLongWriterIsKilled(t *testing.T) {
	budget.CPUs(t, 1)
	writerIsKilled(t, 50)
}

func TestLongResumeAfterAnyCut(t *testing.T) {
	budget.CPUs(t, 1)
	resumeAfterCuts(t, 1)
}
