// Package worker is one worker of a run, on any machine: it joins the coordinator, runs
// its share of the load in k6, a child process, and delivers what k6 reports, in order.
// While the coordinator does not answer, reports wait in memory and then on disk.
//
// Input: the coordinator's URL and the run's token. Output: the worker's exit status.
package worker
