package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/cli"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project"
	"assay.dev/assay/internal/project/logfile"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
	"assay.dev/assay/internal/project/model/traffic"
)

// modelFlags are the options of the command model.
type modelFlags struct {
	format, unit, window, zone string
	fields, routes             []string
	scale                      float64
	profile, out               string
	json                       bool
}

func newModel() *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Annotations: cli.Reads,
		Use:         "model ACCESS_LOG...",
		Short:       "Propose a match-day profile from access logs",
		Long: `Model reads access logs, of one or several servers, and proposes a profile: flows with
their mix, the steps of their rates up to the peak minute, and how unevenly keys are
requested. Each log may be compressed by gzip; - is standard input. It prints what it found
and, with --out, writes thresholds.json and a script for each flow, to be edited.

Formats: combined (nginx, Apache; the time that a request took may follow), json (an object
a line, with the fields of nginx, Caddy, Envoy, Traefik, Google Cloud or the Elastic Common
Schema, or those of --field) and alb (AWS Application Load Balancer).

Of a log that spans more than a day, the day with the busiest minute is used.

What may name a person is not read, or not kept: in paths, numbers, tokens and names with
many values become {id}; of queries only names remain; keys are counted by their hash. A
name of few in a path stays, unless --route replaces it: a note says where that may be.
Scripts send GET, HEAD and OPTIONS as they are; those of other methods fail until edited.`,
		Example: `  assay model /var/log/nginx/access.log
  assay model web1/access.log.gz web2/access.log.gz --window 2024-05-18T18:00/4h --tz Asia/Kolkata
  kubectl logs deploy/gateway | assay model - --format json --field duration=upstream_ms --duration-unit ms
  assay model access.log --scale 1.5 --out matchday    # then edit matchday/scenarios`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("for example: assay model /var/log/nginx/access.log", "no access log was named")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "", "combined, json or alb (default: the one that understands most of a log's first lines)")
	fs.StringArrayVar(&f.fields, "field", nil, "ROLE=NAME, a field of JSON lines; roles: time, method, path, request (method and path in one), status, duration; a nested field: request.uri")
	fs.StringVar(&f.unit, "duration-unit", "", "unit of the time that a request took: s, ms, us or ns (default: by what the log looks like; the summary names it)")
	fs.StringVar(&f.window, "window", "", "the time to look at: FROM/TO or FROM/LENGTH, as in 2024-05-18T18:00/4h (default: the whole log, at most a day)")
	fs.StringVar(&f.zone, "tz", "UTC", "time zone of times without one, of --window, and of the result, such as Asia/Kolkata or +05:30")
	fs.StringArrayVar(&f.routes, "route", nil, "a path that the service has, in which {name} is an identifier: /users/{name}/orders; one that ends in {name} is also the beginning of others")
	fs.Float64Var(&f.scale, "scale", 1, "the profile's rates as a multiple of the log's")
	fs.StringVar(&f.profile, "profile", "match-day", "name of the profile")
	fs.StringVar(&f.out, "out", "", "folder for thresholds.json and the scripts; existing files are never overwritten")
	fs.BoolVar(&f.json, "json", false, "print the model as JSON")
	return c
}

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) // as in thresholds.schema.json

func (f *modelFlags) run(c *cobra.Command, logs []string) error {
	cli.IgnoreBrokenPipe()
	read, zone, err := f.options(c, logs)
	if err != nil {
		return err
	}
	o, err := logfile.Observe(c.Context(), logs, read, zone)
	if err != nil {
		return err
	}
	d, err := model.Propose(o, model.Options{Profile: f.profile, Scale: f.scale, Zone: zone})
	if errors.Is(err, model.ErrNoRequests) {
		return hint.With(err, "all were answered as not found or not valid, or have other methods than those of HTTP/1.1")
	} else if err != nil {
		return err
	}
	var written []string
	if f.out != "" {
		files, err := project.ProposedFiles(d)
		if err != nil {
			return err
		}
		paths, err := project.WriteFiles(f.out, files)
		if errors.Is(err, project.ErrExists) {
			return hint.With(err, "name an empty folder, and copy from there what you want")
		}
		if err != nil {
			return err
		}
		for _, path := range paths {
			written = append(written, filepath.Join(f.out, path))
		}
	}
	if err := cli.PrintDocument(c, f.json, d, model.Page(d), written...); err != nil {
		return err
	}
	if f.out != "" {
		fmt.Fprintf(c.ErrOrStderr(), "next: edit %s, then: cd %s && assay doctor %s --target URL\n",
			filepath.Join(f.out, "scenarios"), shellescape.Quote(f.out), shellescape.Quote(f.profile))
	}
	return nil
}

// options checks the command line.
func (f *modelFlags) options(c *cobra.Command, logs []string) (o logfile.Options, zone *time.Location, err error) {
	o = logfile.Options{Stdin: c.InOrStdin(), Parse: accesslog.Options{Fields: map[string]string{}}}
	if zone, err = parseZone(f.zone); err != nil {
		return o, nil, cli.Usage("for example: --tz Asia/Kolkata, or --tz +05:30", "--tz is %q: there is no such time zone", f.zone)
	}
	o.Parse.Zone = zone
	if f.format != "" {
		if o.Format, err = accesslog.ParseFormat(f.format); err != nil {
			return o, nil, cli.Usage(cli.SeeHelp(c), "--format: %v", err)
		}
	}
	if f.unit != "" {
		if o.Parse.Unit, err = accesslog.ParseUnit(f.unit); err != nil {
			return o, nil, cli.Usage(cli.SeeHelp(c), "--duration-unit: %v", err)
		}
	}
	for _, text := range f.fields {
		role, name, err := accesslog.ParseField(text)
		if err != nil {
			return o, nil, cli.Usage("for example: --field duration=upstream_ms", "--field: %v", err)
		}
		o.Parse.Fields[role] = name
	}
	for _, r := range f.routes {
		if err := route.CheckPattern(r); err != nil {
			return o, nil, cli.Usage("for example: --route '/users/{name}/orders'", "--route: %v", err)
		}
	}
	o.Traffic.Routes = f.routes
	if f.window != "" {
		from, to, err := parseWindow(f.window, zone)
		if err != nil {
			return o, nil, cli.Usage("for example: --window 2024-05-18T18:00/4h", "--window is %q: %v", f.window, err)
		}
		o.Traffic.Window = &traffic.Window{From: from.UnixMicro(), To: to.UnixMicro()}
	}
	if !(f.scale > 0) || math.IsInf(f.scale, 0) {
		return o, nil, cli.Usage("for example: --scale 1.5", "--scale is %g: it must be above 0", f.scale)
	}
	if !profileName.MatchString(f.profile) {
		return o, nil, cli.Usage("for example: --profile match-day", "--profile is %q: it must be letters, digits, '.', '_' and '-'", f.profile)
	}
	for i, name := range logs {
		if slices.Contains(logs[:i], name) {
			return o, nil, cli.Usage("name each log once", "%s is named twice", name)
		}
	}
	return o, zone, nil
}

// parseZone reads the name of a zone, or its offset from UTC.
func parseZone(text string) (*time.Location, error) {
	if at, err := time.Parse("-07:00", text); err == nil {
		return at.Location(), nil
	}
	return time.LoadLocation(text)
}

// parseWindow reads FROM/TO or FROM/LENGTH.
func parseWindow(text string, zone *time.Location) (from, to time.Time, err error) {
	first, last, ok := strings.Cut(text, "/")
	if !ok {
		return from, to, errors.New("it has no /")
	}
	if from, err = parseTime(first, zone); err != nil {
		return from, to, err
	}
	if length, err := time.ParseDuration(last); err == nil {
		to = from.Add(length)
	} else if to, err = parseTime(last, zone); err != nil {
		return from, to, err
	}
	switch length := to.Sub(from); {
	case length < time.Second || length%time.Second != 0:
		return from, to, errors.New("it must end some whole seconds after it begins")
	case length > model.LongestGiven:
		return from, to, fmt.Errorf("it is longer than %g days", model.LongestGiven.Hours()/24)
	}
	return from, to, nil
}

func parseTime(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2024-05-18T18:00", text)
}
