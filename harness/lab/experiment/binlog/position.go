package binlog

import (
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"

	replicated "github.com/go-mysql-org/go-mysql/mysql"
)

// first reads file and position, which are the first two columns in every flavour.
func first(rows *sql.Rows, flavour string) (p replicated.Position, _ string, err error) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return p, "", err
	}
	if !rows.Next() {
		return p, "", errors.Join(errors.New("the database writes no binlog"), rows.Err())
	}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(sql.RawBytes)
	}
	into[0], into[1] = &p.Name, &p.Pos
	if err := rows.Scan(into...); err != nil {
		return p, "", fmt.Errorf("read the binlog's position: %w", err)
	}
	return p, flavour, rows.Err()
}

// firstID is the first of the readers' server ids, which no other replica may have:
// the server ends the connection of an older replica with the same id.
func firstID() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return 1<<30 + binary.LittleEndian.Uint32(b[:])>>3
}

// cpu is the CPU time of this process, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
