package mysql

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"assay/harness/observe/collect/sampling"
)

// Several runs may watch one server at a time. What one of them has switched on
// the others need too, so the last to end restores it, to what the first found.
// They know of each other by their connections alone, which end with them
// however they end: each says by a connection attribute what it promises to
// restore. One that starts promises what the others do as well; one that ends
// leaves to the others what they have promised.

// promiseAttribute is the connection attribute that holds a link's promise.
const promiseAttribute = "assay_restores"

// Former states of a row, as a promise writes them.
const (
	wasOff         = 'a' // not enabled, not timed
	wasOffButTimed = 'b'
	wasUntimed     = 'c' // enabled, not timed
	wasConsumer    = 'd' // a consumer that was off
)

// tokenLength is that of a row in a promise: its state and the checksum of its
// name in base64. By their names some 20 rows would not fit: a server keeps 512
// bytes of attributes by default.
const tokenLength = 1 + 6

func tokenOf(state byte, name string) string {
	sum := binary.BigEndian.AppendUint32(nil, checksum(name))
	return string(state) + base64.RawURLEncoding.EncodeToString(sum)
}

// checksum is SQL's CRC32().
func checksum(name string) uint32 { return crc32.ChecksumIEEE([]byte(name)) }

func (i instrument) state() byte {
	switch {
	case i.enabled == "YES":
		return wasUntimed
	case i.timed == "YES":
		return wasOffButTimed
	}
	return wasOff
}

// promise writes what was switched on.
func (s *switches) promise() string {
	var tokens []string
	for _, name := range s.consumers {
		tokens = append(tokens, tokenOf(wasConsumer, name))
	}
	for _, i := range s.instruments {
		tokens = append(tokens, tokenOf(i.state(), i.name))
	}
	slices.Sort(tokens)
	return strings.Join(tokens, "")
}

// readPromise adds the rows of a promise, by checksum. What cannot be read, such
// as the end of one that the server has cut off, is not promised.
func readPromise(promise string, into map[uint32]byte) {
	for ; len(promise) >= tokenLength; promise = promise[tokenLength:] {
		sum, err := base64.RawURLEncoding.DecodeString(promise[1:tokenLength])
		if state := promise[0]; err == nil && state >= wasOff && state <= wasConsumer {
			into[binary.BigEndian.Uint32(sum)] = state
		}
	}
}

// without leaves the rows that nobody else has promised.
func (s *switches) without(promised map[uint32]byte) *switches {
	has := func(name string) bool { _, ok := promised[checksum(name)]; return ok }
	return &switches{
		consumers:   slices.DeleteFunc(slices.Clone(s.consumers), has),
		instruments: slices.DeleteFunc(slices.Clone(s.instruments), func(i instrument) bool { return has(i.name) }),
	}
}

// promised reads what the collectors of other runs have promised to restore,
// and notes that there are some. A server that does not tell has none.
func (c *Collector) promised(ctx context.Context) map[uint32]byte {
	const attributes = "SELECT PROCESSLIST_ID, ATTR_NAME, ATTR_VALUE FROM performance_schema.session_connect_attrs" +
		" WHERE ATTR_NAME IN ('" + idAttribute + "', '" + promiseAttribute + "')"
	links, promises := map[int64]string{}, map[int64]string{}
	err := c.link.query(ctx, attributes, nil, func(rows *sql.Rows) error {
		var session int64
		var name, value sql.NullString
		if err := rows.Scan(&session, &name, &value); err != nil {
			return err
		}
		if name.String == idAttribute {
			links[session] = value.String
		} else {
			promises[session] = value.String
		}
		return nil
	})
	if err != nil {
		slog.Debug("database collector cannot see others", "err", err)
	}
	all := map[uint32]byte{}
	for session, id := range links {
		if id != c.link.id {
			c.notes.Add(sampling.Together)
			readPromise(promises[session], all)
		}
	}
	return all
}

// instrument switches on what is off, and agrees with the collectors of other
// runs on who restores it.
func (c *Collector) instrument(ctx context.Context) error {
	turn, _ := c.link.exclude(ctx)
	defer func() { c.link.readmit(ctx, turn, false) }()
	promised := c.promised(ctx)
	left := c.inheritLeft(promised)
	if err := c.inherit(ctx, promised); err != nil {
		return err
	}
	if err := c.switchOn(ctx); err != nil {
		return err
	}
	if err := c.kept(); err != nil {
		return err
	}
	mine := map[uint32]byte{}
	readPromise(c.switched.promise(), mine)
	for path, rows := range left {
		if covers(mine, rows) {
			_ = os.Remove(path) // another run may have
		}
	}
	if err := c.link.publish(ctx, c.switched.promise()); err != nil {
		// Others then do not know; what this run does is as without them.
		slog.Debug("database collector cannot tell others what it restores", "err", err)
	}
	return nil
}

// covers reports whether all rows of a promise are in another.
func covers(promise, rows map[uint32]byte) bool {
	for sum := range rows {
		if _, ok := promise[sum]; !ok {
			return false
		}
	}
	return true
}

// inherit promises what others have, if this user may keep the promise.
func (c *Collector) inherit(ctx context.Context, promised map[uint32]byte) error {
	if len(promised) == 0 {
		return nil
	}
	sums := make([]string, 0, len(promised))
	for _, sum := range slices.Sorted(maps.Keys(promised)) {
		sums = append(sums, fmt.Sprint(sum))
	}
	for _, table := range []string{"setup_consumers", "setup_instruments"} {
		// It changes nothing, but needs the right to.
		switch err := c.link.exec(ctx, "UPDATE performance_schema."+table+" SET ENABLED = 'YES' WHERE FALSE"); {
		case denied(err):
			continue
		case err != nil:
			return fmt.Errorf("look for other runs: %w", err)
		}
		var names []string
		// None but what a collector switches on: whoever may connect may promise
		// anything.
		own := "NAME IN " + list(consumers)
		if table == "setup_instruments" {
			var likes []string
			for _, pattern := range instruments(c.server.maria) {
				likes = append(likes, quote(pattern))
			}
			own = "(NAME LIKE " + strings.Join(likes, " OR NAME LIKE ") + ")"
		}
		find := "SELECT NAME FROM performance_schema." + table + " WHERE CRC32(NAME) IN (" + strings.Join(sums, ", ") + ") AND " + own
		err := c.link.query(ctx, find, nil, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			names = append(names, name)
			return err
		})
		if err != nil {
			return fmt.Errorf("look for other runs: %w", err)
		}
		for _, name := range names {
			c.switched.remember(name, promised[checksum(name)], table == "setup_consumers")
		}
	}
	return nil
}

// remember adds a row that another run found in this state, unless it is known.
func (s *switches) remember(name string, state byte, consumer bool) {
	switch {
	case consumer != (state == wasConsumer):
		return // of the other table
	case consumer && !slices.Contains(s.consumers, name):
		s.consumers = append(s.consumers, name)
	case !consumer && !slices.Contains(namesOf(s.instruments), name):
		i := instrument{name: name, enabled: "NO", timed: "NO"}
		switch state {
		case wasOffButTimed:
			i.timed = "YES"
		case wasUntimed:
			i.enabled = "YES"
		}
		s.instruments = append(s.instruments, i)
	}
}

const (
	// joinLock is the server's lock that collectors take to come and go one at a
	// time; joinPatience is how long that may take. Then it is done without.
	joinLock     = "assay instruments"
	joinPatience = 2 * time.Second
)

// exclude keeps other collectors from coming and going while the connection that
// it returns lasts; nil where that cannot be had. It is one of its own, because
// the link's may be replaced meanwhile. alone tells that they are kept out.
func (l *link) exclude(ctx context.Context) (conn *sql.Conn, alone bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dial+joinPatience)
	defer cancel()
	var err error
	conn, err = l.beside.Conn(ctx)
	if err != nil {
		slog.Debug("database collector cannot keep others out", "err", err)
		return nil, false
	}
	var got sql.NullInt64
	err = conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", joinLock, joinPatience.Seconds()).Scan(&got)
	alone = err == nil && got.Int64 == 1
	if !alone {
		slog.Debug("database collector cannot keep others out", "err", err)
	}
	return conn, alone
}

// readmit ends exclude; last says that the link is gone for good, which others
// must find when their turn comes.
func (l *link) readmit(ctx context.Context, conn *sql.Conn, last bool) {
	if conn == nil {
		return
	}
	if last {
		ctx, cancel := context.WithTimeout(ctx, dial)
		defer cancel()
		l.sweep(ctx, conn)
	}
	_ = conn.Close() // which releases the lock
}
