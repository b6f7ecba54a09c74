#!/bin/bash
# Runs once, in the mysql service, when its data folder is made: the schema and
# the two accounts, with the rights that `assay stack` gives (a test compares).
#
# The image sources or executes this, by the file's mode. Both must work, as
# some hosts show every mounted file as executable: so no function of the
# image's own script is used, and nothing is set that its shell would keep.

assay_quoted() { # as an SQL string
	printf "'%s'" "$(printf '%s' "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/''/g")"
}

MYSQL_PWD=${MYSQL_ROOT_PASSWORD:?} mysql --protocol=socket --user=root <<-SQL
	CREATE DATABASE IF NOT EXISTS assay CHARACTER SET utf8mb4;
	CREATE USER IF NOT EXISTS 'assay_service'@'%' IDENTIFIED BY $(assay_quoted "${ASSAY_SERVICE_PASSWORD:?}");
	CREATE USER IF NOT EXISTS 'assay_collector'@'%' IDENTIFIED BY $(assay_quoted "${ASSAY_COLLECTOR_PASSWORD:?}");

	-- The reference service: all of its own schema, nothing else.
	GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW, CREATE TEMPORARY TABLES, LOCK TABLES ON assay.* TO 'assay_service'@'%';

	-- The collector: reads waits, switches instruments, reads and clears the ledger.
	GRANT PROCESS, REPLICATION CLIENT ON *.* TO 'assay_collector'@'%';
	GRANT SELECT ON performance_schema.* TO 'assay_collector'@'%';
	GRANT UPDATE ON performance_schema.setup_instruments TO 'assay_collector'@'%';
	GRANT UPDATE ON performance_schema.setup_consumers TO 'assay_collector'@'%';
	GRANT SELECT, DELETE ON assay.* TO 'assay_collector'@'%';
	-- And writes the rows of scenarios/sql-log.js. The service makes the table later,
	-- and only with CREATE can a right be granted on none.
	GRANT CREATE, INSERT ON assay.writer_log TO 'assay_collector'@'%';
	REVOKE CREATE ON assay.writer_log FROM 'assay_collector'@'%';
SQL
