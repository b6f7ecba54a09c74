package pi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/smithy-go"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/database"
)

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

// explainAPI explains an error that the API returned, by its code.
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
