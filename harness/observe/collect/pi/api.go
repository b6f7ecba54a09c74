package pi

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/pi"
	"github.com/aws/aws-sdk-go-v2/service/pi/types"

	"assay/harness/observe/database"
)

const (
	// callTimeout bounds one call with all its retries.
	callTimeout = 20 * time.Second
	attempts    = 4
	maxBackoff  = 3 * time.Second
	// chunk is how many seconds one call asks for: the API aims at one or two
	// hundred points a series.
	chunk = 120
	// top is the largest number of a group's members that the API returns.
	top = 25
	// maxPages bounds the pages of one answer.
	maxPages = 100
)

// Metric and groups, as the API names them.
const (
	loadMetric = "db.load.avg"
	byNothing  = ""
	byWait     = "db.wait_event"
	bySQL      = "db.sql_tokenized"
)

// api asks one instance.
type api struct {
	client   *pi.Client
	resource string
}

// connect finds region, credentials and endpoint by the SDK's ordinary means.
func connect(ctx context.Context, of database.Insights) (*api, error) {
	var options []func(*config.LoadOptions) error
	if of.Region != "" {
		options = append(options, config.WithRegion(of.Region))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, &database.Error{Problem: "the AWS configuration cannot be read", Remedy: "check that this works here: aws sts get-caller-identity"}
	}
	if loaded.Region == "" {
		return nil, &database.Error{Problem: "no AWS region is named", Remedy: fmt.Sprintf("write it behind the resource, like %s%s?region=eu-west-1", database.InsightsScheme, of.Resource)}
	}
	client := pi.NewFromConfig(loaded, func(o *pi.Options) {
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxAttempts, r.MaxBackoff = attempts, maxBackoff })
	})
	if endpoint := client.Options().BaseEndpoint; endpoint != nil && !safe(*endpoint) {
		return nil, &database.Error{Problem: "the endpoint of Performance Insights is not https", Remedy: "AWS_ENDPOINT_URL_PI or AWS_ENDPOINT_URL names it: write https://..., or leave it out"}
	}
	return &api{client, of.Resource}, nil
}

// safe tells whether signed requests may be sent to an endpoint.
func safe(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (ip != nil && ip.IsLoopback() || u.Hostname() == "localhost")
}

// series is one member of a group, and its load by second.
type series struct {
	dimensions map[string]string // empty: the whole load
	load       map[int64]float64
}

// load asks for the load of the seconds [from, to), split by a group. Seconds
// without a value are left out: they are not 0.
func (a *api) load(ctx context.Context, group string, from, to int64) ([]series, error) {
	input := &pi.GetResourceMetricsInput{
		ServiceType: types.ServiceTypeRds, Identifier: &a.resource,
		StartTime: aws.Time(time.Unix(from, 0)), EndTime: aws.Time(time.Unix(to, 0)), // exclusive
		PeriodInSeconds: aws.Int32(1),
		// Otherwise a second would carry the label of the next one.
		PeriodAlignment: types.PeriodAlignmentStartTime,
		MetricQueries:   []types.MetricQuery{{Metric: aws.String(loadMetric)}},
	}
	if group != byNothing {
		input.MetricQueries[0].GroupBy = &types.DimensionGroup{Group: &group, Limit: aws.Int32(top)}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found := map[string]*series{}
	for range maxPages {
		page, err := a.client.GetResourceMetrics(ctx, input)
		if err != nil {
			return nil, explain(ctx, err, a.resource)
		}
		for _, list := range page.MetricList {
			add(found, list, from, to)
		}
		if aws.ToString(page.NextToken) == "" {
			return slices.Collect(values(found)), nil
		}
		input.NextToken = page.NextToken
	}
	return nil, fmt.Errorf("an answer has more than %d pages", maxPages)
}

// add adds the points of a list to those of the same member: a page may end within
// them.
func add(found map[string]*series, list types.MetricKeyDataPoints, from, to int64) {
	if list.Key == nil {
		return
	}
	var id strings.Builder
	for _, name := range slices.Sorted(maps.Keys(list.Key.Dimensions)) {
		fmt.Fprintf(&id, "%s\x00%s\x00", name, list.Key.Dimensions[name])
	}
	s := found[id.String()]
	if s == nil {
		s = &series{dimensions: list.Key.Dimensions, load: map[int64]float64{}}
		found[id.String()] = s
	}
	for _, p := range list.DataPoints {
		if p.Timestamp == nil || p.Value == nil {
			continue
		}
		if at := p.Timestamp.Unix(); at >= from && at < to && *p.Value >= 0 {
			s.load[at] = *p.Value
		}
	}
}

// values yields the series in a fixed order.
func values(found map[string]*series) func(func(series) bool) {
	return func(yield func(series) bool) {
		for _, id := range slices.Sorted(maps.Keys(found)) {
			if !yield(*found[id]) {
				return
			}
		}
	}
}
