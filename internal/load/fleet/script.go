package fleet

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

// overridingOptions are the options of a script that would silently override the plan,
// with the effect of each.
var overridingOptions = map[string]string{
	"scenarios":            "it sets its own load",
	"duration":             "it sets its own load",
	"stages":               "it sets its own load",
	"iterations":           "it sets its own load",
	"vus":                  "it sets its own load",
	"rps":                  "it limits the rate",
	"minIterationDuration": "it keeps VUs busy after the transaction has ended",
	"executionSegment":     "it drops part of the plan's arrivals",
}

// inspectTimeout bounds the initialisation of a script, which may never end. Most take less
// than a second.
const inspectTimeout = 15 * time.Second

// maxScript is the size of a script, in bytes. Bundles of many modules have a few MB.
const maxScript = 16 << 20

// Script holds those options of a script that affect its connections.
type Script struct {
	SkipsVerify bool // the target's TLS certificate is not verified
	ClientTLS   bool // it has TLS client certificates
	Hosts       bool // it maps names to addresses
	Reconnects  bool // connections are closed after each transaction or request
}

// optionsOf are the options that have a value.
func optionsOf(all map[string]json.RawMessage) map[string]string {
	set := map[string]string{}
	for name, value := range all {
		if text := string(value); text != "null" {
			set[name] = text
		}
	}
	return set
}

// CheckScript initialises the script without running it, with a worker's environment
// and env. It fails, with a hint, if the script does not initialise or sets its own
// load.
func CheckScript(ctx context.Context, executable, script string, env []string) (Script, error) {
	found, _, err := inspect(ctx, executable, script, env)
	return found, err
}

// inspect is CheckScript, and all options that the script sets, by name, as JSON.
func inspect(ctx context.Context, executable, script string, env []string) (Script, map[string]string, error) {
	if _, err := foreign.ReadLinked(script, maxScript); err != nil { // k6 reads whatever it is, to its end
		return Script{}, nil, hint.With(fmt.Errorf("%s: the scenario cannot be read: %s", script, reason(err)), "`scenario` in thresholds.json is relative to that file")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, inspectTimeout, hint.With(fmt.Errorf("%s: the scenario does not initialise within %s", script, inspectTimeout), "look for what takes so long in its init code: assay k6 inspect "+script))
	defer cancel()
	out, err := initialise(ctx, executable, env, "", "inspect", "--no-color", "--include-system-env-vars", script)
	switch {
	case err != nil && ctx.Err() != nil:
		return Script{}, nil, context.Cause(ctx)
	case err != nil:
		return Script{}, nil, hint.With(fmt.Errorf("%s: the scenario does not initialise: %w", script, err), "try it alone: assay k6 inspect "+script)
	}
	var options map[string]json.RawMessage
	if err := json.Unmarshal(out, &options); err != nil {
		return Script{}, nil, fmt.Errorf("inspect %s: %w", script, err)
	}
	isSet := func(name string) bool {
		value := string(options[name])
		return value != "" && value != "null" && value != "false" && value != "{}" && value != "[]"
	}
	found := Script{
		SkipsVerify: isSet("insecureSkipTLSVerify"), ClientTLS: isSet("tlsAuth"), Hosts: isSet("hosts"),
		Reconnects: isSet("noConnectionReuse") || isSet("noVUConnectionReuse"),
	}
	var set []string
	for name, value := range options {
		if _, own := overridingOptions[name]; own && string(value) != "null" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return found, optionsOf(options), nil
	}
	slices.Sort(set)
	return found, nil, hint.With(fmt.Errorf("%s: a certified script must not set options.%s: %s", script, set[0], overridingOptions[set[0]]),
		"remove it from the script's options; thresholds.json holds the load")
}

// archiveTimeout bounds the making of an archive, whose script has initialised before.
const archiveTimeout = 2 * inspectTimeout

// Archive makes the archive of a profile's scripts, with the modules that it imports and the files
// that it opens, for workers on machines that do not have them. env is a worker's
// environment, which the archive does not hold.
func Archive(ctx context.Context, executable string, m Main, env []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, archiveTimeout, fmt.Errorf("%s: making its archive took more than %s", m, archiveTimeout))
	defer cancel()
	name, source, err := m.argument()
	if err != nil {
		return nil, err
	}
	out, err := initialise(ctx, executable, env, source, "archive", "--quiet", "--no-color", "--exclude-env-vars", "--include-system-env-vars", "--archive-out", "-", name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s: make its archive: %w", m, err)
	case len(out) > wire.MaxArchive:
		return nil, hint.With(fmt.Errorf("%s: its archive has %d MiB, the limit is %d MiB", m, len(out)>>20, wire.MaxArchive>>20),
			"open smaller files in the script")
	}
	return out, nil
}

// initialise runs a k6 that only initialises a script, and returns what it prints. Its script
// may never end: it does when ctx is done, and with this process. env is not an argument, as it
// may hold a secret, and command lines are public.
func initialise(ctx context.Context, executable string, env []string, stdin string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, executable, append([]string{"k6"}, args...)...)
	cmd.Env, cmd.Stdin = k6Environment(env), strings.NewReader(stdin)
	var out head
	var log Tail
	cmd.Stdout, cmd.Stderr = &out, &log
	child, err := process.Start(cmd, process.Tied)
	if err == nil {
		err = child.Err()
	}
	if err == nil {
		return out.kept, nil
	}
	text := cmp.Or(LastError(log.Bytes()), err.Error())
	if outOfMemory.MatchString(text) {
		text = fmt.Sprintf("it takes more than %d MiB of memory", wire.MaxInit>>20)
	}
	return nil, errors.New(text)
}

// outOfMemory is what Go writes at the limit on a process's memory.
var outOfMemory = regexp.MustCompile(`^(?:fatal error|panic): .*(?:out of memory|cannot allocate)`)

// Files names the local files that an archive was made of. k6 hides the names of home
// folders, /home/ana as /home/nobody: those in the first script's own are found.
func Files(archive []byte, m Main) (paths []string, err error) {
	script, err := filepath.Abs(m.scripts[0])
	if err != nil {
		return nil, fmt.Errorf("find the script's files: %w", err)
	}
	home, hidden := hiddenHome(script)
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return paths, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the script's archive: %w", err)
		}
		if name, isFile := strings.CutPrefix(h.Name, "file/"); isFile && h.Typeflag != tar.TypeDir {
			if name == "-" { // the module that imports the scripts
				continue
			}
			name = "/" + name
			if inHome, ok := strings.CutPrefix(name, hidden); ok {
				name = home + inHome
			}
			paths = append(paths, name)
		}
	}
}

// hiddenHome is the home folder that a path is in, and how archives name it, both with a
// final slash; the same folder twice if they do not hide it.
func hiddenHome(path string) (home, hidden string) {
	real, normal := strings.SplitAfter(path, "/"), strings.SplitAfter(lib.NormalizeAndAnonymizePath(path), "/")
	for i := range min(len(real), len(normal)) {
		home, hidden = home+real[i], hidden+normal[i]
		if real[i] != normal[i] {
			return home, hidden
		}
	}
	return "/", "/"
}

// PlaceholderDSN is for a script that needs the database and is only initialised, where the
// real DSN is not known.
const PlaceholderDSN = "assay@tcp(127.0.0.1:3306)/assay"

// PlaceholderNodes is the like for a script that needs the database's nodes.
const PlaceholderNodes = "a=" + PlaceholderDSN + " b=" + PlaceholderDSN

// Environment is what a worker's script of this profile sees, without what k6 itself needs.
// dsn and nodes are left out for a script that does not need them.
func Environment(p spec.Profile, target, run string, seed uint64, dsn, nodes string) []string {
	env := append(p.Env.Pairs(), "ASSAY_TARGET="+target, "ASSAY_RUN="+run, "ASSAY_WORKER=0", fmt.Sprintf("ASSAY_SEED=%d", seed))
	if p.NeedsDatabase() {
		env = append(env, "ASSAY_DB="+dsn)
	}
	if p.NeedsNodes() {
		env = append(env, "ASSAY_DB_NODES="+nodes)
	}
	return env
}

// k6Environment is the whole environment of a k6 that only initialises a script.
func k6Environment(env []string) []string {
	return append(slices.Clone(env), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "K6_AUTO_EXTENSION_RESOLUTION=false")
}

func reason(err error) string {
	text := mask.Text(err.Error())
	return text[strings.LastIndex(": "+text, ": "):]
}

var (
	logError   = regexp.MustCompile(`(?m)^.*level=(?:error|fatal) msg=("(?:[^"\\]|\\.)*"|\S+).*$`)
	logProblem = regexp.MustCompile(`(?m)^.*level=(?:warning|error|fatal) msg=("(?:[^"\\]|\\.)*"|\S+)(?: error=("(?:[^"\\]|\\.)*"|\S+))?`)
	logThrown  = regexp.MustCompile(`(?m)^.*level=error msg=("(?:[^"\\]|\\.)*"|\S+).* source=stacktrace`)
	// What Go writes before the stacks of a process that it ends.
	goEnd = regexp.MustCompile(`(?m)^((?:panic|fatal error|SIG[A-Z]+): .{0,200})`)
	// The first frame of a stack trace that is in a file.
	frame = regexp.MustCompile(`(?m)^\s+at .*?file://(\S+?):(\d+):(\d+)\(`)
	// k6's action, before the error.
	action = regexp.MustCompile(`^(?:could not (?:initialize|load JS test) '[^']*': )+`)
	folder = regexp.MustCompile(`file://\S*/`)
	advice = regexp.MustCompile(`(?:\. Make sure that| - this likely means|; pass \{ redirects: n \}) .*$`)
)

// LastError returns the last error in a log of k6 as one line with the place in the
// script, without the stack trace, or why Go ended k6; "" if there is none.
func LastError(log []byte) string {
	log = mask.Bytes(log) // before any of it is cut or rewritten
	all := logError.FindAllSubmatch(log, -1)
	if ended := goEnd.FindSubmatch(log); ended != nil {
		return string(ended[1])
	}
	if len(all) == 0 {
		return ""
	}
	return oneLine(unquote(all[len(all)-1][1]))
}

// noneFinished begins k6's advice for a slow script, which misleads if the target
// hangs.
const noneFinished = "No script iterations fully finished"

// FirstProblem returns the first error or warning in a log of k6 in the form of
// LastError: an exception of the script, or why a request failed.
func FirstProblem(log []byte) string {
	log = mask.Bytes(log)
	for _, m := range logProblem.FindAllSubmatch(log, -1) {
		text := oneLine(unquote(m[1]))
		if strings.HasPrefix(text, noneFinished) {
			continue
		}
		if len(m[2]) > 0 {
			text += ": " + oneLine(unquote(m[2]))
		}
		return text
	}
	return ""
}

// FirstException returns the first exception of the script in a log of k6, in the form of
// LastError.
func FirstException(log []byte) string {
	if m := logThrown.FindSubmatch(mask.Bytes(log)); m != nil {
		return oneLine(unquote(m[1]))
	}
	return ""
}

// unquote reads a value of a log line.
func unquote(value []byte) string {
	var plain string
	if json.Unmarshal(value, &plain) == nil {
		return plain
	}
	return string(value)
}

// oneLine is the first line of a message, with the place in the script.
func oneLine(text string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasSuffix(line, ":") { // a heading, and a list below it
		item, _, _ := strings.Cut(strings.TrimLeft(rest, "\t -"), "\n")
		line += " " + item
	}
	line = folder.ReplaceAllString(advice.ReplaceAllString(action.ReplaceAllString(line, ""), ""), "")
	if at := frame.FindStringSubmatch(rest); at != nil {
		line += fmt.Sprintf(" (%s:%s:%s)", path.Base(at[1]), at[2], at[3])
	}
	return line
}

// head keeps the first bytes that are written to it, one more than MaxArchive: a script that
// writes without end must not take this process's memory.
type head struct{ kept []byte }

func (h *head) Write(b []byte) (int, error) {
	h.kept = append(h.kept, b[:min(len(b), wire.MaxArchive+1-len(h.kept))]...)
	return len(b), nil
}

// Tail keeps the last partSize bytes that are written to it, or a little more. It is safe for
// concurrent use.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - partSize; extra > partSize {
		if end := bytes.IndexByte(t.kept[extra:], '\n') + 1; end > 0 && extra+end < len(t.kept) {
			extra += end // half of a secret would not be masked
		}
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(b), nil
}

// Bytes is what was kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept)
}

// LastLine is the last line, without the name of the command.
func (t *Tail) LastLine() string {
	text := strings.TrimSpace(string(t.Bytes()))
	return strings.TrimPrefix(text[strings.LastIndex(text, "\n")+1:], "assay: ")
}
