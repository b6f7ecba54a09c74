// Command standin takes the place of Grafana in trials of docker-compose.yml on
// a machine that cannot pull its image. It is not Grafana and draws nothing.
//
// It reads what the image would read, where the image reads it: datasources and
// dashboard providers below GF_PATHS_PROVISIONING, and the dashboards that the
// providers name. Variables of the environment are put in as Grafana does. A
// file that is missing or wrong keeps it from starting; then it serves, by
// Grafana's own paths and with its administrator's password,
//
//	GET /api/health                        that it is up (no password)
//	GET /api/search                        the dashboards
//	GET /api/datasources/uid/{uid}/health  what the datasource answers
//
// Input: the environment of the image and its folders. Output: HTTP.
package main
