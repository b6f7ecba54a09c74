package pi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/pi"
	"github.com/aws/aws-sdk-go-v2/service/pi/types"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/database"
)

const (
	// callTimeout bounds one call with all its retries.
	callTimeout = 20 * time.Second
	maxAttempts = 4
	maxBackoff  = 3 * time.Second
	// maxSeconds is the number of seconds per request: the API is meant for one or two
	// hundred points per series.
	maxSeconds = 120
	// maxMembers is the largest number of members of a group that the API returns.
	maxMembers = 25
	// maxPages bounds the pages of one response, maxFound its series, and maxBody a page.
	maxPages = 100
	maxFound = 1000
	maxBody  = 16 << 20
	// maxDimension bounds the name of a wait or the text of a statement, bytes.
	maxDimension = 4 << 10
	// maxLoad is above the sessions of any instance.
	maxLoad = 1e6
)

// Names of the metric and the groups in the API.
const (
	loadMetric = "db.load.avg"
	byNothing  = ""
	byWait     = "db.wait_event"
	bySQL      = "db.sql_tokenized"
)

// api sends requests for one instance.
type api struct {
	client   *pi.Client
	resource string
}

// connect finds region, credentials and endpoint as the SDK does by default.
func connect(ctx context.Context, instance database.Insights) (*api, error) {
	var options []func(*config.LoadOptions) error
	if instance.Region != "" {
		options = append(options, config.WithRegion(instance.Region))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, &database.Error{Problem: "the AWS configuration cannot be read", Remedy: "check that this works here: aws sts get-caller-identity"}
	}
	if loaded.Region == "" {
		return nil, &database.Error{Problem: "no AWS region is named", Remedy: fmt.Sprintf("append it to the resource, like %s%s?region=eu-west-1", database.InsightsScheme, instance.Resource)}
	}
	client := pi.NewFromConfig(loaded, func(o *pi.Options) {
		o.HTTPClient = bounded{o.HTTPClient}
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxAttempts, r.MaxBackoff = maxAttempts, maxBackoff })
	})
	if endpoint := client.Options().BaseEndpoint; endpoint != nil && !secure(*endpoint) {
		return nil, &database.Error{Problem: "the endpoint of Performance Insights is not https", Remedy: "change AWS_ENDPOINT_URL_PI or AWS_ENDPOINT_URL to https://..., or unset it"}
	}
	return &api{client, instance.Resource}, nil
}

// bounded is a client whose answers end at maxBody.
type bounded struct{ pi.HTTPClient }

// Do sends a request.
func (b bounded) Do(req *http.Request) (*http.Response, error) {
	resp, err := b.HTTPClient.Do(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
	}
	return resp, err
}

// secure reports whether signed requests may be sent to an endpoint: by https, or on
// loopback.
func secure(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http" && collect.IsLoopback(u.Hostname()))
}

// series is the load of one member of a group by second.
type series struct {
	dimensions map[string]string // empty: the total load
	load       map[int64]float64
}

// load requests the load of the seconds [from, to), split by a group. Seconds without a
// value are missing from the result rather than 0.
func (a *api) load(ctx context.Context, group string, from, to int64) (_ []series, err error) {
	defer foreign.Guard(&err)
	input := &pi.GetResourceMetricsInput{
		ServiceType: types.ServiceTypeRds, Identifier: &a.resource,
		StartTime: aws.Time(time.Unix(from, 0)), EndTime: aws.Time(time.Unix(to, 0)), // exclusive
		PeriodInSeconds: aws.Int32(1),
		// Otherwise the timestamp would be the end of the second.
		PeriodAlignment: types.PeriodAlignmentStartTime,
		MetricQueries:   []types.MetricQuery{{Metric: aws.String(loadMetric)}},
	}
	if group != byNothing {
		input.MetricQueries[0].GroupBy = &types.DimensionGroup{Group: &group, Limit: aws.Int32(maxMembers)}
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
			addPoints(found, list, from, to)
		}
		if len(found) > maxFound {
			return nil, fmt.Errorf("the response has more than %d series", maxFound)
		}
		if aws.ToString(page.NextToken) == "" {
			return sortedSeries(found), nil
		}
		input.NextToken = page.NextToken
	}
	return nil, fmt.Errorf("the response has more than %d pages", maxPages)
}

// addPoints adds the points of a list to the series of its member, which may continue over
// several pages.
func addPoints(found map[string]*series, list types.MetricKeyDataPoints, from, to int64) {
	if list.Key == nil {
		return
	}
	var id strings.Builder
	for name, text := range list.Key.Dimensions {
		if len(name) > maxDimension || !utf8.ValidString(name) {
			return
		}
		if len(text) > maxDimension || !utf8.ValidString(text) {
			list.Key.Dimensions[name] = mask.Cut(text, maxDimension)
		}
	}
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
		if at := p.Timestamp.Unix(); at >= from && at < to && *p.Value >= 0 && *p.Value <= maxLoad {
			s.load[at] = *p.Value
		}
	}
}

// sortedSeries returns the series sorted by their dimensions.
func sortedSeries(found map[string]*series) (all []series) {
	for _, id := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[id])
	}
	return all
}
