// Package ingestion measures what the field report on ingestion did: a service that stores
// events one by one, with too many connections and with too few; in bulk; and behind its
// response, from a channel, which is lost when the process is killed.
//
// Input: options of runs, and a database. Output: a document with a certificate for each
// mode of the service, all at the same rate, and the highest rate that generator, service
// and database reach together; and its page. No figure is compared with an absolute number.
package ingestion
