package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// influxTimeout bounds each of two questions.
const influxTimeout = 1500 * time.Millisecond

// Influx is the view's database.
type Influx struct {
	Shown    string // its URL without credentials
	Err      error  // why it cannot be used
	Version  string
	Database string
	Missing  bool // the database is not there, and has to be made
}

// LookAtInflux asks the server at the URL, whose parameter db names the
// database, with the token: user:password, or one of InfluxDB 2 or 3.
func LookAtInflux(ctx context.Context, address, token, database string) (i Influx) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		i.Shown, i.Err = "ASSAY_INFLUX_URL", errors.New("not an http or https URL, like http://127.0.0.1:8086/?db=assay")
		return i
	}
	i.Shown, i.Database = u.Scheme+"://"+u.Host, database
	if name := u.Query().Get("db"); name != "" {
		i.Database = name
	}
	base := *u
	base.RawQuery, base.User, base.Fragment = "", nil, ""
	resp, err := askInflux(ctx, base.JoinPath("ping").String(), token)
	if err != nil {
		i.Err = err
		return i
	}
	i.Version = resp.version
	query := base.JoinPath("query")
	query.RawQuery = url.Values{"q": {"SHOW DATABASES"}}.Encode()
	if resp, err = askInflux(ctx, query.String(), token); err != nil {
		i.Err = err
		return i
	}
	names, err := resp.names()
	i.Err, i.Missing = err, err == nil && !slices.Contains(names, i.Database)
	return i
}

type influxAnswer struct {
	version string
	body    []byte
}

func askInflux(ctx context.Context, address, token string) (influxAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, influxTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return influxAnswer{}, err
	}
	if user, password, basic := strings.Cut(token, ":"); basic {
		req.SetBasicAuth(user, password)
	} else if token != "" {
		req.Header.Set("Authorization", "Token "+token)
	}
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		// A redirect would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return influxAnswer{}, err
	}
	defer func() { _ = resp.Body.Close() }() // read only
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return influxAnswer{}, err
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return influxAnswer{}, errors.New("it refuses what ASSAY_INFLUX_TOKEN says")
	case resp.StatusCode/100 != 2:
		return influxAnswer{}, fmt.Errorf("it answers %s", resp.Status)
	}
	return influxAnswer{resp.Header.Get("X-Influxdb-Version"), body}, nil
}

// names are the databases of an answer to SHOW DATABASES.
func (a influxAnswer) names() ([]string, error) {
	var said struct {
		Results []struct {
			Series []struct{ Values [][]string }
			Error  string
		}
	}
	if err := json.Unmarshal(a.body, &said); err != nil {
		return nil, errors.New("it does not answer as InfluxDB")
	}
	var names []string
	for _, r := range said.Results {
		if r.Error != "" {
			return nil, errors.New(r.Error)
		}
		for _, s := range r.Series {
			for _, v := range s.Values {
				names = append(names, v...)
			}
		}
	}
	return names, nil
}
