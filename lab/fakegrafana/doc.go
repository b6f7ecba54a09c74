// Command fakegrafana replaces Grafana in tests of docker-compose.yml on a machine that
// cannot pull its image. It draws nothing.
//
// It reads the same files as the image: datasources and dashboard providers below
// GF_PATHS_PROVISIONING, and the dashboards that the providers name. It expands
// environment variables as Grafana does. It fails to start if a file is missing or
// invalid. It serves these paths of Grafana, with the administrator's password:
//
//	GET /api/health                        whether it is up (no password)
//	GET /api/search                        the dashboards
//	GET /api/datasources/uid/{uid}/health  the result of testing the datasource
//
// Input: the environment of the image and its folders. Output: HTTP.
package main
