#!/bin/sh
# Prepares this folder for `docker compose up`; may be repeated at any time.
#
# usage: sh docker/setup.sh
#
#   .env     random passwords, for what is not named there yet; mode 0600
#   runs/    where certified runs go; the container's user may write there
#   bin/k6   a link to bin/assay, which the image takes along
set -eu
cd "$(dirname "$0")/.."

# A container that root starts does not run as root all the same.
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
# What an editor saved without a last line end must not swallow our first line.
if [ -s "$new" ] && [ -n "$(tail -c 1 "$new")" ]; then echo >>"$new"; fi

set_once() { # NAME VALUE
	grep -q "^$1=." "$new" || echo "$1=$2" >>"$new"
}
# Letters and digits only: nothing that a DSN, a URL or Compose would read as
# more than a letter.
random() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

set_once ASSAY_USER "$user:$group"
for name in MYSQL_ROOT SERVICE COLLECTOR INFLUX_ADMIN INFLUX INFLUX_READER GRAFANA; do
	set_once "ASSAY_${name}_PASSWORD" "$(random)"
done
mv "$new" .env
