package run

import (
	"context"
	"net/url"
	"strings"

	"assay/harness/doctor"
	"assay/harness/observe/collect"
	"assay/harness/observe/collect/host"
	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/collect/service"
	"assay/harness/observe/record"
)

// startCollectors starts what there is to collect from. A source that is not
// there is a limitation.
func (r *run) startCollectors(ctx context.Context) {
	// Collectors end when they are told to, in order, not when ctx is done.
	c := &collection{}
	r.collect = c
	var running context.Context
	running, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.begin(ctx, running, host.New(r.fleet.PIDs()), r.receiver.Take); err != nil {
		r.note(err.Error())
	}
	r.service = service.New(strings.TrimSuffix(r.Target, "/")+"/metrics", targetHost(r.Target))
	if err := c.begin(ctx, running, r.service, r.receiver.Take); err != nil {
		r.note("no service metrics: " + err.Error())
	}
	if r.DSN == "" {
		c.absent(collect.Database, "no database was named")
		return
	}
	r.database = mysql.New(r.DSN, mysql.Options{})
	// What the doctor warned of has been told.
	if err := c.begin(ctx, running, r.database, r.receiver.Take); err != nil && !r.found.Warned(doctor.CheckWaits) {
		r.note("no waits: " + err.Error())
	}
}

func targetHost(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// environment describes where the run takes place.
func (r *run) environment(ctx context.Context) record.Environment {
	e := record.Environment{Schema: "assay/environment/v1", Host: host.Describe(), CoLocation: coLocated(ctx, r.Target, r.DSN), Service: r.service.Describe()}
	if r.database != nil {
		if d, err := r.database.Describe(ctx); err == nil {
			e.Database = &d
		} else {
			r.note(err.Error())
		}
	}
	return e
}
