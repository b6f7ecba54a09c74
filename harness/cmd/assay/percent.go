package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// percentOf reads an option that is written like 5%, as a share.
func percentOf(c *cobra.Command, name string) (share float64, err error) {
	flag := c.Flags().Lookup(name)
	number, ok := strings.CutSuffix(strings.TrimSpace(flag.Value.String()), "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, &usageError{
			fmt.Sprintf("--%s is %q: a percentage above 0%% and up to 100%%", name, flag.Value),
			fmt.Sprintf("like: --%s %s", name, flag.DefValue),
		}
	}
	return percent / 100, nil
}
