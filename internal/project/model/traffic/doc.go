// Package traffic counts the requests of access logs, in bounded memory: by endpoint, which
// is a method and a template of paths, and by second.
//
// Input: requests in any order of time, each with the shape that package route gives its
// target. Output: endpoints with their counts, latencies, keys and requests of each second.
// A segment of a path that has too many values, or values that are too rare or, of many, are
// requested alike, becomes {id} in all templates that have it.
package traffic
