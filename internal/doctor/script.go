package doctor

import (
	"cmp"
	"context"
	"strings"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/spec"
)

// placeholderTarget is for a script's environment if there is no target yet: the script is
// only initialised, and connects to nothing.
const placeholderTarget = "http://127.0.0.1:18080"

// script is the result of initialising a script.
type script struct {
	fleet.Script
	err    error
	sleeps []string // files that call sleep() of k6
}

// initialiseScripts initialises the profiles' scripts concurrently, each only once for
// the same environment. The result is by profile.
func (s Subject) initialiseScripts(ctx context.Context) map[string]script {
	keyOf := func(p spec.Profile) string {
		return strings.Join(append(s.environment(p), fleet.MainOf(s.File, p).String()), "\x00")
	}
	found := map[string]*script{}
	var wg crash.Group
	for _, l := range s.Loads {
		k := keyOf(l.Profile)
		if found[k] != nil {
			continue
		}
		one := &script{}
		found[k] = one
		wg.Go(func() {
			one.sleeps = fleet.MainOf(s.File, l.Profile).Sleeps()
			one.Script, one.err = fleet.CheckScripts(ctx, s.Executable, s.File, l.Profile, s.environment(l.Profile))
		})
	}
	wg.Wait()
	all := map[string]script{}
	for _, l := range s.Loads {
		all[l.Profile.Name] = *found[keyOf(l.Profile)]
	}
	return all
}

// thinksUnplanned lists the files that call think() of flows whose transactions may not.
func thinksUnplanned(file spec.File, p spec.Profile) (paths []string) {
	for _, f := range p.Flows {
		if f.Think == 0 {
			paths = append(paths, fleet.MainOf(file, p.Alone(f)).Thinks()...)
		}
	}
	return paths
}

// environment is the environment that a worker would give the profile's script.
func (s Subject) environment(p spec.Profile) []string {
	return fleet.Environment(p, cmp.Or(s.Target, placeholderTarget), s.Run, s.Seed, cmp.Or(s.DSN, fleet.PlaceholderDSN), cmp.Or(s.Nodes, fleet.PlaceholderNodes))
}

func scriptOptionsOf(loads []Load, scripts map[string]script) scriptOptions {
	c := scriptOptions{skipVerify: len(loads) > 0, reconnects: map[string]bool{}}
	for _, l := range loads {
		s := scripts[l.Profile.Name]
		c.skipVerify = c.skipVerify && s.SkipsVerify
		c.clientTLS = c.clientTLS || s.ClientTLS
		c.mapsHosts = c.mapsHosts || s.Hosts
		c.reconnects[l.Profile.Name] = s.Reconnects
	}
	return c
}

func scriptFinding(profile, path string, s script) Finding {
	f := pass(CheckScript, path+" initialises", "")
	if s.err != nil {
		f = fail(CheckScript, "cannot be run", "", s.err.Error(), cmp.Or(hint.Of(s.err), "check it with: assay k6 inspect "+path))
	}
	f.Profile = profile
	return f
}

// callFinding warns of scripts that call a function; ok is false if none does.
func callFinding(profile string, files []string, observed, function, why, remedy string) (f Finding, ok bool) {
	calls := " calls "
	if len(files) > 1 {
		calls = " call "
	}
	f = warn(CheckScript, observed, "", strings.Join(files, ", ")+calls+function+why, remedy)
	f.Profile = profile
	return f, len(files) > 0
}

// sleepFinding warns of scripts that wait by k6's sleep(); ok is false if none does.
func sleepFinding(profile string, files []string) (f Finding, ok bool) {
	f, ok = callFinding(profile, files, "waits by sleep()", "sleep()", " of k6: between requests, what it waits counts as time of the service",
		`use think() of scenarios/lib/think.js, which does not count, and give the profile "think"; remove a sleep() that paces a loop, as the profile sets the rate`)
	f.Limitation = f.Why
	return f, ok
}

// thinkFinding warns of scripts that think in flows that plan no think time; ok is false if
// none does.
func thinkFinding(profile string, files []string) (f Finding, ok bool) {
	return callFinding(profile, files, "thinks, and the profile does not say for how long", "think()", ", which fails the transaction without \"think\" in the profile",
		`give the profile, or its flow, the longest time that one transaction thinks: "think": "5s"`)
}
