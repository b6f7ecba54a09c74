package pi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
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
	"github.com/aws/smithy-go"

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
func connect(ctx context.Context, instance Instance) (*api, error) {
	var options []func(*config.LoadOptions) error
	if instance.Region != "" {
		options = append(options, config.WithRegion(instance.Region))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, &database.Error{Problem: "the AWS configuration cannot be read", Remedy: "check that this works here: aws sts get-caller-identity"}
	}
	if loaded.Region == "" {
		return nil, &database.Error{Problem: "no AWS region is named", Remedy: fmt.Sprintf("append it to the resource, like %s%s?region=eu-west-1", scheme, instance.Resource)}
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

func sortedSeries(found map[string]*series) (all []series) {
	for _, id := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[id])
	}
	return all
}

// explain shortens an error of the SDK to one line with a hint.
func explain(ctx context.Context, err error, resource string) error {
	var apiErr smithy.APIError
	if errors.As(err, &apiErr) {
		return explainAPI(apiErr, resource)
	}
	var unreachable net.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("timed out waiting for Performance Insights: %w", context.Cause(ctx))
	case strings.Contains(err.Error(), "get credentials"), strings.Contains(err.Error(), "get identity"), strings.Contains(err.Error(), "refresh cached credentials"):
		return &database.Error{Problem: "no AWS credentials", Remedy: "check that this works here: aws sts get-caller-identity"}
	case errors.As(err, &unreachable):
		return &database.Error{Problem: "Performance Insights cannot be reached: " + database.Reason(unreachable), Remedy: "check the region, and that https to pi.REGION.amazonaws.com is not blocked"}
	}
	return &database.Error{Problem: "the response of Performance Insights cannot be read: " + database.Reason(err), Remedy: "check AWS_ENDPOINT_URL_PI, if it is set"}
}

// maxMessage bounds the message of an error of the API, bytes.
const maxMessage = 200

func explainAPI(err smithy.APIError, resource string) error {
	text := err.ErrorCode()
	if message := mask.Line(err.ErrorMessage(), maxMessage); message != "" {
		text += ": " + message
	}
	problem := "Performance Insights rejected the request: " + text
	remedy := ""
	switch code := err.ErrorCode(); {
	case strings.HasPrefix(code, "Throttl"), code == "TooManyRequestsException", code == "RequestLimitExceeded":
		problem, remedy = "Performance Insights is throttling: "+text, "pause other clients of its API, or ask AWS for a higher quota"
	case code == "ExpiredTokenException", code == "ExpiredToken":
		problem, remedy = "the AWS credentials have expired", "log in again, or use credentials that the SDK can renew: a role, or SSO"
	case code == "UnrecognizedClientException", code == "InvalidClientTokenId", code == "MissingAuthenticationToken":
		remedy = "check which credentials are used: aws sts get-caller-identity"
	case code == "RequestTimeTooSkewed", code == "RequestExpired", code == "InvalidSignatureException", code == "SignatureDoesNotMatch":
		remedy = "correct this host's clock (timedatectl), and check that the secret key belongs to the key id"
	case code == "NotAuthorizedException", code == "AccessDeniedException", code == "AccessDenied":
		remedy = fmt.Sprintf("allow pi:GetResourceMetrics on arn:aws:pi:*:*:metrics/rds/%s; Performance Insights must be enabled for the instance, in this region", resource)
	case code == "InvalidArgumentException", code == "ValidationException":
		remedy = "check the DbiResourceId and the region: aws rds describe-db-instances"
	case code == "InternalServiceError":
		remedy = "try again later"
	}
	return &database.Error{Problem: problem, Remedy: remedy}
}
