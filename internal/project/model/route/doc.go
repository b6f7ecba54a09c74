// Package route removes identifiers from the targets of requests, as far as a target alone
// shows them; package traffic removes those that only many targets together show.
//
// Input: the target of a request, of any bytes. Output: its shape: the segments of its path,
// where each that may identify something or somebody is a placeholder, and the names in its
// query without their values.
package route
