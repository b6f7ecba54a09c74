#!/bin/sh
# Galera runs this on both sides when a node joins: there it has to say where it can
# receive, on the other side it has to send a full copy, or, with --bypass, to say that
# the writes which the node missed suffice. This one sends no copies: the node then
# cannot join, and its server ends.
#
# Both sides are servers of this machine, in data folders of one owner: the address is
# that of a folder, in which the sender leaves its answer.
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 ;;
	--datadir) data=${2%/} ;;
	--address) address=$2 ;;
	--parent) parent=$2 ;;
	--gtid) position=$2 ;;
	--bypass) bypass=yes ;;
	esac
	shift
done
case $role in
joiner)
	answer=$data/transfer.answer
	rm -f "$answer"
	# NODE/data: its name is enough, as all nodes are in one folder.
	node=${data%/data}
	echo "ready ${node##*/}"
	until [ -f "$answer" ]; do
		kill -0 "$parent" || exit 32 # Galera's code: the server has ended
		sleep 0.05
	done
	read -r position <"$answer"
	rm -f "$answer"
	[ "$position" != none ] || exit 42 # ENOMSG: no copy
	echo "$position"
	;;
donor)
	answer=${data%/*/data}/$address/data/transfer.answer
	[ -n "${bypass-}" ] && echo continue || position=none
	echo "$position" >"$answer.partial"
	mv "$answer.partial" "$answer"
	[ "$position" != none ] || exit 42
	echo "done $position"
	;;
esac
