// Command fakegrafana replaces Grafana in tests of docker-compose.yml on a machine that
// cannot pull its image. It is not Grafana and draws nothing.
//
// It reads the files that the image reads: datasources and dashboard providers below
// GF_PATHS_PROVISIONING, and the dashboards that the providers name. It expands
// variables of the environment as Grafana does. It does not start where a file is
// missing or wrong. It serves Grafana's paths with the administrator's password:
//
//	GET /api/health                        that it is up (no password)
//	GET /api/search                        the dashboards
//	GET /api/datasources/uid/{uid}/health  the datasource's answer
//
// Input: the environment of the image and its folders. Output: HTTP.
package main
