#!/bin/bash
# Runs once, in the mysql service, when its data folder is created: creates the schema
# and two accounts, with the privileges that `assay-lab stack` grants (a test compares them).
#
# The image sources or executes this file, depending on its mode. Both must work, since
# some hosts present every mounted file as executable: so this uses no function of the
# image's entry point, and leaves no settings in its shell.

assay_quoted() { # as an SQL string
	printf "'%s'" "$(printf '%s' "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/''/g")"
}

MYSQL_PWD=${MYSQL_ROOT_PASSWORD:?} mysql --protocol=socket --user=root <<-SQL
	CREATE DATABASE IF NOT EXISTS assay CHARACTER SET utf8mb4;
	CREATE USER IF NOT EXISTS 'assay_service'@'%' IDENTIFIED BY $(assay_quoted "${ASSAY_SERVICE_PASSWORD:?}");
	CREATE USER IF NOT EXISTS 'assay_collector'@'%' IDENTIFIED BY $(assay_quoted "${ASSAY_COLLECTOR_PASSWORD:?}");

	-- The reference service: its own schema only.
	GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW, CREATE TEMPORARY TABLES, LOCK TABLES ON assay.* TO 'assay_service'@'%';

	-- The collector: reads waits, turns instruments on and off, which it marks in
	-- setup_objects, reads and clears the ledger.
	GRANT PROCESS, REPLICATION CLIENT ON *.* TO 'assay_collector'@'%';
	GRANT SELECT ON performance_schema.* TO 'assay_collector'@'%';
	GRANT UPDATE ON performance_schema.setup_instruments TO 'assay_collector'@'%';
	GRANT UPDATE ON performance_schema.setup_consumers TO 'assay_collector'@'%';
	GRANT INSERT, DELETE ON performance_schema.setup_objects TO 'assay_collector'@'%';
	GRANT SELECT, DELETE ON assay.* TO 'assay_collector'@'%';
	-- It also inserts the rows of scenarios/sql-log.js. The service creates the table
	-- later; a privilege on a missing table can be granted only together with CREATE.
	GRANT CREATE, INSERT ON assay.writer_log TO 'assay_collector'@'%';
	REVOKE CREATE ON assay.writer_log FROM 'assay_collector'@'%';
	-- The tables that other scenarios make themselves.
	GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON assay.stale_reads TO 'assay_collector'@'%';
	GRANT ALL ON \`tpcc%\`.* TO 'assay_collector'@'%';
SQL
