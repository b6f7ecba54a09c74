package replication

import "regexp"

// passing matches why a process could not connect to its group, in the words of Galera's
// library: a process has taken the port for its peers since that was chosen; or the thread
// of the connection had not begun yet when its priority was read (gu_thread.cpp,
// thread_get_schedparam), which happens on a busy machine.
var passing = regexp.MustCompile(`gcs connect failed: (Address already in use|No such process)|Failed to open backend connection: -\d+ \((Address already in use|No such process)\)`)

// PassingFailure finds in the error of a server of Galera, or in the log of its arbitrator,
// why it did not start, if it is a reason that may have passed when it is started again;
// else it is empty.
func PassingFailure(text string) string { return passing.FindString(text) }
