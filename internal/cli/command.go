package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
)

// Usage is the error of a wrong command line, with its hint.
func Usage(next, format string, args ...any) error {
	return hint.With(fmt.Errorf(format, args...), next)
}

// Root makes c the root of a program's commands.
func Root(c *cobra.Command) *cobra.Command {
	Group(c)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return hint.With(err, SeeHelp(c)) })
	c.CompletionOptions.HiddenDefaultCmd = true
	c.SetHelpCommand(NewHelp())
	addVersion(c)
	return c
}

// Group makes c a group of subcommands: it prints its help without a subcommand, and
// fails for an unknown one.
func Group(c *cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return UnknownCommand(c, args[0])
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.DisableFlagsInUseLine = true
	c.SuggestionsMinimumDistance = 2
	return c
}

// UnknownCommand suggests the nearest command, if one is near.
func UnknownCommand(parent *cobra.Command, word string) error {
	problem := fmt.Sprintf("unknown command %q", word)
	if near := parent.SuggestionsFor(word); len(near) > 0 {
		problem += fmt.Sprintf(": did you mean %q?", near[0])
	}
	return hint.With(errors.New(problem), SeeHelp(parent))
}

func SeeHelp(c *cobra.Command) string { return "see: " + c.CommandPath() + " --help" }

// NoArguments is cobra.NoArgs with a hint.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage(SeeHelp(c), "%s takes no arguments, but got %q", strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), args[0])
}

// NewHelp is cobra's help command, except that an unknown command is an error.
func NewHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			of := c.Root()
			for _, word := range args {
				next, rest, err := of.Find([]string{word})
				if err != nil || next == of || len(rest) > 0 {
					return UnknownCommand(of, word)
				}
				of = next
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// Logger writes warnings and errors to stderr.
func Logger(c *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
