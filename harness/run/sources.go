package run

import (
	"context"

	"assay/harness/observe/record"
)

func (r *run) startCollectors(ctx context.Context) (*collection, error) {
	return &collection{}, nil
}

func (r *run) environment(ctx context.Context) record.Environment {
	return record.Environment{Schema: "assay/environment/v1", CoLocation: coLocated(r.Target, r.DSN)}
}
