package wire

import "net/http"

type answers func(*http.Request) *http.Response

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// Use answers the requests of a link.
func (l *Link) Use(answer func(*http.Request) *http.Response) { l.client.Transport = answers(answer) }
