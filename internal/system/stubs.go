package system

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

const (
	// stubTimeout limits the start of a stub.
	stubTimeout = 15 * time.Second
	// stubPatience is how long a stub may take to stop: its calls have 5 s to end.
	stubPatience = 10 * time.Second
)

// usedStub is a stub that is started for runs.
type usedStub struct {
	name, url, file string // file: its path
}

// stubsOf are the stubs of profiles that can be started here: those with a file, and a URL on
// loopback. Several profiles may share one.
func stubsOf(f spec.File, profiles []spec.Profile) (all []usedStub, err error) {
	for _, p := range profiles {
		for _, name := range slices.Sorted(maps.Keys(p.Stubs)) {
			s := p.Stubs[name]
			u, err := url.Parse(s.URL)
			if s.File == "" || err != nil || u.Scheme != "http" || !collect.IsLoopback(u.Hostname()) || u.Port() == "" || u.Path != "" {
				continue
			}
			one := usedStub{name, s.URL, f.StubPath(s)}
			i := slices.IndexFunc(all, func(other usedStub) bool { return other.url == one.url })
			switch {
			case i < 0:
				all = append(all, one)
			case all[i].file != one.file:
				return nil, hint.With(fmt.Errorf("the profiles have two stubs at %s: %s and %s", one.url, all[i].file, one.file), "certify them one after the other, or give each stub a URL of its own")
			}
		}
	}
	return all, nil
}

// startStubs starts the stubs, until Release. One that runs already is used if its token is
// given.
func (s *System) startStubs(ctx context.Context, o Options, used []usedStub, p *trial.Progress) error {
	given := s.stubToken != ""
	s.stubToken = cmp.Or(s.stubToken, rand.Text())
	for _, u := range used {
		if _, err := readStub(u.file); err != nil {
			return err
		}
		at, _ := url.Parse(u.url) // stubsOf has parsed it
		port, _ := strconv.Atoi(at.Port())
		if err := process.CheckPort(port); errors.Is(err, process.ErrPortTaken) && given {
			p.Note(fmt.Sprintf("using the stub %s that runs at %s", u.name, u.url))
			continue
		} else if err != nil {
			return hint.With(fmt.Errorf("start stub %s: %w", u.name, err), "stop the process that listens there; or, if it is the stub, set "+stubs.TokenEnv+" to its token")
		}
		if err := s.startStub(ctx, o, u, net.JoinHostPort(at.Hostname(), at.Port())); err != nil {
			return fmt.Errorf("start stub %s: %w", u.name, err)
		}
		p.Step("stub %s is up at %s", u.name, u.url)
	}
	return nil
}

func (s *System) startStub(ctx context.Context, o Options, u usedStub, address string) error {
	path := filepath.Join(localstack.DefaultDir, "log", "stub-"+u.name+".log")
	log, err := process.OpenLog(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(o.Executable, "stub", u.file, "--listen", address)
	cmd.Env = append(process.WithoutSecrets(), stubs.TokenEnv+"="+s.stubToken)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	child, err := process.Start(cmd, process.TiedGently)
	if err != nil {
		return err
	}
	s.release = append(s.release, func() {
		if err := child.Stop(stubPatience); err != nil {
			o.Log.Error("stub not stopped", "stub", u.name, "error", err)
		}
	})
	client := stubs.NewClient(u.name, u.url, s.stubToken)
	defer client.Close()
	err = child.Await(ctx, stubTimeout, func(ctx context.Context) error { _, err := client.State(ctx); return err })
	if errors.Is(err, process.ErrEnded) {
		// What it has said is the reason.
		problem, next, _ := strings.Cut(strings.TrimSpace(log.Written()), "\nhint: ")
		lines := strings.Split(problem, "\n")
		return hint.With(errors.New(strings.TrimPrefix(lines[len(lines)-1], "assay: ")), next)
	}
	if err != nil {
		return fmt.Errorf("%w (log: %s)", err, path)
	}
	return nil
}

// examineStubs finds what the stubs of each profile lack: a file, where certify starts the
// stub with the local stack, and elsewhere an answer.
func examineStubs(ctx context.Context, o run.Options, profiles []spec.Profile) (all doctor.Findings) {
	started, conflict := stubsOf(o.File, profiles)
	if o.Target != "" {
		started = nil
	}
	for _, p := range profiles {
		if len(p.Stubs) == 0 {
			continue
		}
		err := conflict
		f := doctor.Finding{Check: checkStubs, Profile: p.Name, State: doctor.OK, Observed: quantity.Number(len(p.Stubs), "stub"), Needed: "answer, or can be started"}
		of := o
		of.Profile = p
		of.Profile.Stubs = maps.Clone(p.Stubs)
		for name, s := range p.Stubs {
			i := slices.IndexFunc(started, func(u usedStub) bool { return u.url == s.URL })
			if i < 0 {
				continue
			}
			delete(of.Profile.Stubs, name)
			if _, bad := readStub(started[i].file); bad != nil {
				err = bad
			}
		}
		if err == nil {
			err = run.CheckStubs(ctx, of)
		}
		if err != nil {
			f.State, f.Observed, f.Why, f.Remedy = doctor.Lacking, "no stub", err.Error(), cmp.Or(hint.Of(err), "correct the profile's stubs")
		}
		all = append(all, f)
	}
	return all
}

func readStub(path string) (spec.StubFile, error) {
	data, err := foreign.ReadLinked(path, spec.MaxBytes)
	if err != nil {
		return spec.StubFile{}, hint.With(fmt.Errorf("the stub file cannot be read: %w", err), `correct "file" of the profile's stub`)
	}
	return spec.DecodeStub(path, data)
}

// gatewayFlag is the reference service's flag for what it calls.
const gatewayFlag = "--gateway-url"

// callingStubs are the arguments with which the reference service is started: it calls the
// only stub, unless arguments are given. running are those with which it is up; nil: it is
// not. It calls the same for all profiles, so it is an error if some of them have no stub.
func callingStubs(given, running []string, used []usedStub, profiles []spec.Profile, p *trial.Progress) ([]string, error) {
	args := given
	switch {
	case running != nil:
		args = running
	case len(used) == 1 && len(given) == 0:
		args = []string{gatewayFlag, used[0].url}
	}
	called := valueOf(args, gatewayFlag)
	switch {
	case len(used) == 1 && called == used[0].url:
		for _, of := range profiles {
			if len(of.Stubs) == 0 {
				return nil, hint.With(fmt.Errorf("the reference service calls the stub %s, which the profile %s does not have", used[0].name, of.Name), "certify the profiles one after the other")
			}
		}
	case running != nil && len(used) == 1 && !strings.Contains(strings.Join(running, " "), used[0].url):
		p.Note(fmt.Sprintf("the reference service that is up does not call the stub %s: after assay-lab stack down, certify starts one that does", used[0].name))
	case running != nil && len(used) == 0 && called != "":
		p.Note(fmt.Sprintf("the reference service that is up calls %s, which is no stub of the profile: assay-lab stack down stops it, and certify starts one with its own gateway", called))
	}
	if running != nil {
		return given, nil
	}
	return args, nil
}

// runningArgs are the arguments of the reference service that is up, not nil; nil: none is.
func runningArgs(ctx context.Context) []string {
	state, err := localstack.Status(ctx, localstack.DefaultDir)
	if err != nil || state == nil {
		return nil
	}
	return state.TargetArgs
}

// valueOf is the last value of a flag in arguments, "--flag value" or "--flag=value"; empty:
// none.
func valueOf(args []string, flag string) (value string) {
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			value = args[i+1]
		} else if v, ok := strings.CutPrefix(a, flag+"="); ok {
			value = v
		}
	}
	return value
}
