// Package kafka connects to Kafka, and reads the lag of a consumer group.
//
// Input: brokers, and an [Access] from the environment, whose password is in no error and
// no record. Output: options of franz-go's client, and the messages of a topic that the
// group has not committed. It changes nothing in Kafka.
package kafka
