#!/bin/bash
# Replaces the entry point of the official image: supports MYSQL_ROOT_PASSWORD,
# MYSQL_ROOT_HOST and /docker-entrypoint-initdb.d, in the same order. Root only makes
# mysql the owner of the folders; the rest runs as mysql.
set -eo pipefail
shopt -s nullglob

[[ ${1:0:1} != - ]] || set -- mysqld "$@"
if [[ $1 == mysqld ]]; then
	if [[ $(id -u) -eq 0 ]]; then
		find /var/lib/mysql /var/lib/mysql-files /var/run/mysqld \! -user mysql -exec chown mysql '{}' +
		exec setpriv --reuid=mysql --regid=mysql --clear-groups "$0" "$@"
	fi
	if [[ ! -d /var/lib/mysql/mysql ]]; then
		: "${MYSQL_ROOT_PASSWORD:?is not set}"
		"$@" --initialize-insecure
		"$@" --daemonize --skip-networking
		{
			echo "ALTER USER 'root'@'localhost' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';"
			if [[ ${MYSQL_ROOT_HOST:=%} != localhost ]]; then
				echo "CREATE USER 'root'@'$MYSQL_ROOT_HOST' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';"
				echo "GRANT ALL ON *.* TO 'root'@'$MYSQL_ROOT_HOST' WITH GRANT OPTION;"
			fi
		} | mysql --user=root
		for file in /docker-entrypoint-initdb.d/*; do
			case $file in
			*.sh) if [[ -x $file ]]; then "$file"; else . "$file"; fi ;;
			*.sql) MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql --user=root <"$file" ;;
			*) echo "ignoring $file" >&2 ;;
			esac
		done
		MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysqladmin --user=root shutdown
	fi
fi
exec "$@"
