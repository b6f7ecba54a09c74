// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/page"
)

// PercentOf parses an option such as 5% as a share, 0.05.
func PercentOf(c *cobra.Command, name string) (share float64, err error) {
	flag := c.Flags().Lookup(name)
	number, ok := strings.CutSuffix(strings.TrimSpace(flag.Value.String()), "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, Usage(fmt.Sprintf("for example: --%s %s", name, flag.DefValue), "--%s is %q: it must be a percentage above 0%% and up to 100%%", name, flag.Value)
	}
	return percent / 100, nil
}

// Arguments checks the number of a command's arguments.
func Arguments(least, most int, problem, next string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return hint.With(errors.New(problem), next)
		}
		return nil
	}
}

func OneRun(c *cobra.Command, args []string) error {
	return Arguments(1, 1, c.Name()+" takes one run folder", "for example: "+c.CommandPath()+" runs/latest")(c, args)
}

// PrintDocument prints a result as a page followed by the paths of its files, or as a
// JSON document.
func PrintDocument(c *cobra.Command, asJSON bool, result any, text page.Page, paths ...string) error {
	if asJSON {
		return PrintJSON(c, result)
	}
	f, ok := c.OutOrStdout().(*os.File)
	color := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	out := string(page.Terminal(text, page.Columns, color))
	if len(paths) > 0 {
		out += "\n  " + strings.Join(paths, "\n  ") + "\n"
	}
	_, err := io.WriteString(c.OutOrStdout(), out)
	return err
}

// PrintJSON prints a result as a JSON document, unless it is the bytes of one.
func PrintJSON(c *cobra.Command, result any) (err error) {
	data, ok := result.([]byte)
	if !ok {
		data, err = document.Marshal(result)
	}
	if err == nil {
		_, err = c.OutOrStdout().Write(data)
	}
	return err
}
