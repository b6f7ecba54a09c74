package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// ownLoad are the options of a script that would silently override the plan,
// with what each would do.
var ownLoad = map[string]string{
	"scenarios":            "it sets its own load",
	"duration":             "it sets its own load",
	"stages":               "it sets its own load",
	"iterations":           "it sets its own load",
	"vus":                  "it sets its own load",
	"rps":                  "it limits the rate behind the plan's back",
	"minIterationDuration": "it keeps VUs busy after the transaction has ended",
	"executionSegment":     "it takes a share of the plan's arrivals",
}

// ScriptError is a script that cannot be certified.
type ScriptError struct {
	Path   string
	Reason string
	Hint   string
}

func (e *ScriptError) Error() string { return e.Path + ": " + e.Reason }

// CheckScript initialises the script without running it, and refuses it when it
// does not initialise or sets its own load.
func CheckScript(ctx context.Context, executable, script string, env []string) error {
	if _, err := os.Stat(script); err != nil {
		return &ScriptError{Path: script, Reason: "the scenario cannot be read: " + reason(err), Hint: "`scenario` in thresholds.json is relative to that file"}
	}
	args := []string{"k6", "inspect", "--no-color"}
	for _, kv := range env {
		args = append(args, "-e", kv)
	}
	cmd := exec.CommandContext(ctx, executable, append(args, script)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "K6_AUTO_EXTENSION_RESOLUTION=false"}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		why := LastError(errOut.Bytes())
		if why == "" {
			why = err.Error()
		}
		return &ScriptError{Path: script, Reason: "the scenario does not initialise: " + why, Hint: "try it alone: assay k6 inspect " + script}
	}
	var options map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &options); err != nil {
		return fmt.Errorf("inspect %s: %w", script, err)
	}
	var set []string
	for name, value := range options {
		if _, own := ownLoad[name]; own && string(value) != "null" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return nil
	}
	slices.Sort(set)
	return &ScriptError{
		Path:   script,
		Reason: fmt.Sprintf("options.%s must not stand in a certified script: %s", set[0], ownLoad[set[0]]),
		Hint:   "remove it from the script's options; thresholds.json holds the load",
	}
}

func reason(err error) string {
	if i := strings.LastIndex(err.Error(), ": "); i >= 0 {
		return err.Error()[i+2:]
	}
	return err.Error()
}

var (
	logError = regexp.MustCompile(`(?m)^.*level=(?:error|fatal) msg=("(?:[^"\\]|\\.)*"|\S+).*$`)
	stack    = regexp.MustCompile(`\s+(at |hint=)[\s\S]*$`)
)

// LastError finds the last error in a log of k6; "" where there is none. It is
// one line: a stack trace stays in the log.
func LastError(log []byte) string {
	all := logError.FindAllSubmatch(log, -1)
	if len(all) == 0 {
		return ""
	}
	text := string(all[len(all)-1][1])
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil {
		text = plain
	}
	text = stack.ReplaceAllString(text, "")
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
