package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"assay/harness/hint"
	"assay/harness/load/fleet"
	"assay/harness/spec"
)

// Stand-ins for what a script is given where there is none yet: it is
// initialised only, and connects to nothing.
const (
	anyTarget   = "http://127.0.0.1:18080"
	anyDatabase = "assay@tcp(127.0.0.1:3306)/assay"
)

// script is the result of initialising a script.
type script struct {
	fleet.Script
	err error
}

// lookAtScripts initialises the profiles' scripts, each once, side by side.
func (s Subject) lookAtScripts(ctx context.Context) map[string]script {
	type way struct {
		path     string
		database bool
	}
	found := map[way]*script{}
	var looking sync.WaitGroup
	for _, l := range s.Loads {
		w := way{s.path(l.Profile), slices.Contains(l.Profile.Needs, "db")}
		if found[w] != nil {
			continue
		}
		one := &script{}
		found[w] = one
		looking.Go(func() { one.Script, one.err = fleet.CheckScript(ctx, s.Executable, w.path, s.environment(l.Profile)) })
	}
	looking.Wait()
	all := map[string]script{}
	for _, l := range s.Loads {
		all[l.Profile.Name] = *found[way{s.path(l.Profile), slices.Contains(l.Profile.Needs, "db")}]
	}
	return all
}

// environment is what a worker would give the profile's script.
func (s Subject) environment(p spec.Profile) []string {
	env := []string{"ASSAY_TARGET=" + cmp.Or(s.Target, anyTarget), "ASSAY_RUN=" + s.Run, "ASSAY_WORKER=0", fmt.Sprintf("ASSAY_SEED=%d", s.Seed)}
	if slices.Contains(p.Needs, "db") {
		env = append(env, "ASSAY_DB="+cmp.Or(s.DSN, anyDatabase))
	}
	return env
}

// connectsOf joins what the scripts say of their connections.
func connectsOf(loads []Load, scripts map[string]script) connects {
	c := connects{skipVerify: len(loads) > 0, reconnects: map[string]bool{}}
	for _, l := range loads {
		s := scripts[l.Profile.Name]
		c.skipVerify = c.skipVerify && s.SkipsVerify
		c.clientTLS = c.clientTLS || s.ClientTLS
		c.ownNames = c.ownNames || s.Hosts
		c.reconnects[l.Profile.Name] = s.Reconnects
	}
	return c
}

// scriptFinding judges the initialisation of a profile's script.
func scriptFinding(profile, path string, s script) Finding {
	f := fine(CheckScript, path+" initialises", "")
	if s.err != nil {
		f = bad(CheckScript, "it cannot be run", "", s.err.Error(), cmp.Or(hint.Of(s.err), "try it alone: assay k6 inspect "+path))
	}
	f.Profile = profile
	return f
}
