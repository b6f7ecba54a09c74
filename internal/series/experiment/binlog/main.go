package binlog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"assay.dev/assay/internal/hint"
)

// Main reads the binlog of the database at the DSN with count readers until ctx is done. It
// writes each report of Run as a line of JSON.
func Main(ctx context.Context, dsn, count string, out io.Writer) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("number of readers: %q is not a positive integer", count)
	}
	if dsn == "" {
		return hint.With(errors.New("no database is named"), "set ASSAY_DB to its DSN")
	}
	var unwritten error
	lines := json.NewEncoder(out)
	err = Run(ctx, dsn, n, func(r Read) { unwritten = cmp.Or(unwritten, lines.Encode(r)) })
	return cmp.Or(err, unwritten)
}
