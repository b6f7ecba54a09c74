package journey

import (
	"context"
	"strconv"
	_ "unsafe" // for go:linkname

	"go.k6.io/k6/v2/metrics"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"assay.dev/assay/internal/load/arrivals"
)

// addGlobalDialOptions adds options to all connections of the process. k6 has no way to.
//
//go:linkname addGlobalDialOptions google.golang.org/grpc/internal.AddGlobalDialOptions
var addGlobalDialOptions any // func(...grpc.DialOption)

// rpcState is k6's state of a gRPC call.
type rpcState struct{ tags *metrics.TagsAndMeta }

// k6State is the state of the call that a context is of; nil: k6 makes it for itself, or it is not k6's.
//
//go:linkname k6State go.k6.io/k6/v2/internal/lib/netext/grpcext.getRPCState
func k6State(ctx context.Context) *rpcState

// watchCalls has gRPC calls reported that k6 does not report: it reports one at its end, unless its
// context is done, as that of a call is whose own timeout has ended it.
func watchCalls(vus *arrivals.VUs) {
	addGlobalDialOptions.(func(...grpc.DialOption))(grpc.WithStatsHandler(calls{vus}))
}

// calls handles the events of gRPC calls, each of them before k6 does.
type calls struct{ vus *arrivals.VUs }

// TagConn does nothing.
func (calls) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (calls) HandleConn(context.Context, stats.ConnStats) {}

// TagRPC does nothing.
func (calls) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC reports the end of a call that k6 will not report.
func (c calls) HandleRPC(ctx context.Context, event stats.RPCStats) {
	end, ended := event.(*stats.End)
	if !ended || ctx.Err() == nil {
		return
	}
	of := k6State(ctx)
	if of == nil {
		return
	}
	vu, _ := of.tags.Tags.Get(arrivals.VUTag)
	number, err := strconv.ParseUint(vu, 10, 64)
	if err != nil {
		return
	}
	if p := c.vus.Pauses(number); p != nil {
		tags := of.tags.Tags.With(metrics.TagStatus.String(), strconv.Itoa(int(status.Code(end.Error))))
		p.Called(tags, end.BeginTime, end.EndTime)
	}
}
