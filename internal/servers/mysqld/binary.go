package mysqld

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/statefile"
)

// Flavour is the family of a server; options and privileges differ between them.
type Flavour string

// The flavours that can be started.
const (
	MySQL   Flavour = "mysql"
	MariaDB Flavour = "mariadb"
)

// BinaryEnv names the environment variable that chooses the server binary.
const BinaryEnv = "ASSAY_MYSQLD"

// Binary is a server program of this machine.
type Binary struct {
	Path    string  `json:"path"`
	Flavour Flavour `json:"flavour"`
	Version string  `json:"version"` // such as 9.7.4 or 10.11.19
}

func (b Binary) String() string { return fmt.Sprintf("%s %s (%s)", b.Flavour, b.Version, b.Path) }

// ErrNoBinary is returned if no server is installed.
var ErrNoBinary = errors.New("no mysqld or mariadbd found: install one, e.g. with `apt-get install mariadb-server-core`, or name one in " + BinaryEnv)

// Find returns the usable servers of this machine, the preferred one first: that in
// ASSAY_MYSQLD, then every MySQL, then every MariaDB. Of several names for one file
// (Debian's mysqld is a link to mariadbd) it keeps the first.
func Find() []Binary {
	var found []Binary
	seen := map[string]bool{}
	add := func(path string) {
		file, err := filepath.EvalSymlinks(path)
		if err != nil || seen[file] {
			return
		}
		seen[file] = true
		if b, err := Probe(path); err == nil {
			found = append(found, b)
		}
	}
	if path, err := exec.LookPath(os.Getenv(BinaryEnv)); err == nil {
		add(path)
	}
	keep := len(found) // the user's choice stays first
	for _, name := range []string{"mysqld", "mariadbd"} {
		if path, err := exec.LookPath(name); err == nil {
			add(path)
		}
		// Not in a normal user's PATH on most distributions.
		for _, folder := range []string{"/usr/sbin", "/usr/libexec"} {
			add(filepath.Join(folder, name))
		}
	}
	slices.SortStableFunc(found[keep:], func(a, b Binary) int { return rank(a.Flavour) - rank(b.Flavour) })
	return found
}

func rank(f Flavour) int {
	if f == MySQL {
		return 0
	}
	return 1
}

// Choose returns the default server: the first of Find. It fails if ASSAY_MYSQLD is
// set but unusable.
func Choose() (Binary, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		b, err := Probe(path)
		if err != nil {
			return Binary{}, fmt.Errorf("use %s: %w", BinaryEnv, err)
		}
		return b, nil
	}
	if found := Find(); len(found) > 0 {
		return found[0], nil
	}
	return Binary{}, ErrNoBinary
}

// ChooseFor returns the default server for dir: the one that initialised its data, or
// another of the same flavour; without data, that of Choose.
func ChooseFor(dir string) (Binary, error) {
	l, err := at(dir)
	if err != nil {
		return Binary{}, err
	}
	var a account
	err = statefile.Read(l.account(), &a)
	if errors.Is(err, os.ErrNotExist) || os.Getenv(BinaryEnv) != "" {
		return Choose()
	}
	if err != nil {
		return Binary{}, fmt.Errorf("choose server: %w", err)
	}
	if b, err := Probe(a.Binary.Path); err == nil && b.Flavour == a.Binary.Flavour {
		return b, nil
	}
	for _, b := range Find() {
		if b.Flavour == a.Binary.Flavour {
			return b, nil
		}
	}
	return Binary{}, fmt.Errorf("choose server: data folder %s was initialised by %s, and no %s is installed: name one in %s, or remove the folder",
		l.data(), a.Binary, a.Binary.Flavour, BinaryEnv)
}

// versionLine matches what `--version` prints, such as
//
//	mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)
//	mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)
var versionLine = regexp.MustCompile(`Ver (\d+(?:\.\d+)+)(\S*)`)

// probeTimeout bounds `--version`, which takes about 20 ms, for a program that does
// something else.
const probeTimeout = 10 * time.Second

// Probe asks the program at path for its flavour and version.
func Probe(path string) (Binary, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	path, err := exec.LookPath(path)
	if err != nil {
		return Binary{}, fmt.Errorf("probe server: %w", err)
	}
	var b Binary
	out, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()
	if err == nil {
		b, err = parseVersion(string(out))
	}
	if err == nil {
		b.Path, err = filepath.Abs(path) // the server may be started again from another folder
	}
	if err != nil {
		return Binary{}, fmt.Errorf("probe %s: %w", path, err)
	}
	return b, nil
}

func parseVersion(out string) (Binary, error) {
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	m := versionLine.FindStringSubmatch(line)
	if m == nil {
		return Binary{}, fmt.Errorf("not a MySQL or MariaDB server: its version is %q", line)
	}
	b := Binary{Flavour: MySQL, Version: m[1]}
	if strings.Contains(line, "MariaDB") {
		b.Flavour = MariaDB
	}
	return b, nil
}

// consequences are error lines that only follow from an earlier error.
var consequences = []string{
	"Aborting", "Data Dictionary initialization failed", "Failed to initialize DD Storage Engine",
	"DD Storage Engine", "Plugin initialization aborted", "init function returned error",
	"registration as a STORAGE ENGINE failed", "Unknown/unsupported storage engine: InnoDB",
	"The designated data directory", "The newly created data directory",
	"WSREP: wsrep::connect(",
}

var (
	// errorLine matches the level, then MySQL's code and subsystem.
	errorLine = regexp.MustCompile(`\[ERROR\] (?:\[MY-\d+\] )?(?:\[\w+\] )?(.*)`)
	// bootstrapLine is a statement that failed while a data folder was initialised.
	bootstrapLine = regexp.MustCompile(`^ERROR: (.*)`)
)

// lastError returns the last error in a server's log that does not only repeat an
// earlier one, else the last line, else "".
func lastError(log string) string {
	var found, consequence, line string
	for l := range strings.Lines(log) {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		line = l
		m := errorLine.FindStringSubmatch(l)
		if m == nil {
			m = bootstrapLine.FindStringSubmatch(l)
		}
		switch {
		case m == nil:
		case slices.ContainsFunc(consequences, func(c string) bool { return strings.Contains(m[1], c) }):
			consequence = m[1]
		default:
			found = m[1]
		}
	}
	return shorten(cmp.Or(found, consequence, line))
}

// shorten keeps an error on one line of a terminal.
func shorten(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// failure is the error of a server that has ended: its last logged error, or its exit
// status, and the path of the log. Passwords are masked, as servers quote statements that
// they cannot execute.
func failure(what string, log *process.Log, ended error) error {
	// Before the line is shortened, which could leave a part of a password.
	logged := lastError(mask.Text(log.Written()))
	switch {
	case logged != "":
		return fmt.Errorf("%s: %s (log: %s)", what, logged, log.Name())
	case ended != nil:
		return fmt.Errorf("%s: %w (log: %s)", what, ended, log.Name())
	}
	return fmt.Errorf("%s: it ended without a message (log: %s)", what, log.Name())
}
