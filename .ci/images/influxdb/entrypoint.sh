#!/bin/bash
# Replaces the entry point of the official image: creates, once, the database and the
# users that INFLUXDB_* name, with a server that listens on loopback only.
set -e

if [[ $1 == influxd && ! -d /var/lib/influxdb/meta ]]; then
	INFLUXDB_HTTP_BIND_ADDRESS=127.0.0.1:8086 influxd &
	server=$!
	query() { influx -host 127.0.0.1 "${login[@]}" -execute "$1"; }
	login=()
	admin="CREATE USER \"$INFLUXDB_ADMIN_USER\" WITH PASSWORD '$INFLUXDB_ADMIN_PASSWORD' WITH ALL PRIVILEGES"
	for try in {1..30}; do
		if query "$admin" >/dev/null 2>&1; then break; fi
		sleep 1
	done
	[[ $try -lt 30 ]] || { echo "influxdb does not answer" >&2 && exit 1; }
	login=(-username "$INFLUXDB_ADMIN_USER" -password "$INFLUXDB_ADMIN_PASSWORD")
	query "CREATE DATABASE $INFLUXDB_DB"
	for right in ALL READ WRITE; do
		case $right in ALL) name=INFLUXDB_USER ;; *) name=INFLUXDB_${right}_USER ;; esac
		password=${name}_PASSWORD
		[[ -n ${!name:-} ]] || continue
		query "CREATE USER \"${!name}\" WITH PASSWORD '${!password:?}'"
		query "GRANT $right ON \"$INFLUXDB_DB\" TO \"${!name}\""
	done
	kill "$server"
	wait "$server"
fi
exec "$@"
