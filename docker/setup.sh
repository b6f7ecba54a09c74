#!/bin/sh
# Prepares this folder for `docker compose up`; it is safe to run again.
#
# usage: sh docker/setup.sh
#
#   .env     random passwords and the workers' token, unless it has them; mode 0600
#   runs/    for run folders; writable for the container's user
#   bin/k6   a link to bin/assay, which is copied into the image
set -eu
cd "$(dirname "$0")/.."

# If root starts the container, it must not run as root.
user=$(id -u) group=$(id -g)
if [ "$user" -eq 0 ]; then user=65532 group=65532; fi

mkdir -p runs bin
if [ "$(id -u)" -eq 0 ]; then chown "$user:$group" runs; fi
ln -sf assay bin/k6

umask 077
new=.env.new.$$
trap 'rm -f "$new"' EXIT
touch .env
cat .env >"$new"
# If the file has no newline at its end, the first added line must not join its last.
if [ -s "$new" ] && [ -n "$(tail -c 1 "$new")" ]; then echo >>"$new"; fi

set_once() { # NAME VALUE
	grep -q "^$1=." "$new" || echo "$1=$2" >>"$new"
}
# Hexadecimal digits only: nothing that needs quoting in a DSN, a URL or Compose.
random() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

set_once ASSAY_USER "$user:$group"
for name in MYSQL_ROOT SERVICE COLLECTOR INFLUX_ADMIN INFLUX INFLUX_READER GRAFANA; do
	set_once "ASSAY_${name}_PASSWORD" "$(random)"
done
set_once ASSAY_JOIN_TOKEN "$(random)"
mv "$new" .env
