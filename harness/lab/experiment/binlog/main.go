package binlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"assay/harness/hint"
)

// Main reads the binlog of the database at the DSN with count readers. It writes the
// line "reading" once all have started, and a Read as JSON when ctx is done.
func Main(ctx context.Context, dsn, count string, out io.Writer) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("number of readers: %q is not a positive integer", count)
	}
	if dsn == "" {
		return hint.With(errors.New("no database is named"), "set ASSAY_DB to its DSN")
	}
	read, err := Run(ctx, dsn, n, func() { fmt.Fprintln(out, "reading") })
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(read)
}
