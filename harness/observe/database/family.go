package database

import (
	"database/sql"
	"strconv"
	"strings"
)

// Family is a kind of server, as record.Database and package wait name it.
// MariaDB speaks MySQL's language, and has its DSNs.
type Family string

// The families.
const (
	MySQL      Family = "mysql"
	PostgreSQL Family = "postgresql"
)

// FamilyOf tells the family by the DSN's scheme; MySQL's have none.
func FamilyOf(dsn string) Family {
	for _, scheme := range []string{"postgres://", "postgresql://"} {
		if strings.HasPrefix(dsn, scheme) {
			return PostgreSQL
		}
	}
	return MySQL
}

// Examples are DSNs to show who has written another.
const (
	Example       = "user:password@tcp(127.0.0.1:3306)/shop or postgres://user:password@127.0.0.1:5432/shop"
	PublicExample = "user@tcp(127.0.0.1:3306)/shop or postgres://user@127.0.0.1:5432/shop"
)

// DB is an open database.
type DB struct {
	*sql.DB
	Family Family
}

// Statement is SQL with question marks for its arguments as the database takes
// it.
func (d *DB) Statement(text string) string {
	if d.Family != PostgreSQL {
		return text
	}
	parts := strings.Split(text, "?")
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(parts)-1 {
			b.WriteString("$" + strconv.Itoa(i+1))
		}
	}
	return b.String()
}

// Times are the types of columns that hold an instant.
func (d *DB) Times() []string {
	if d.Family == PostgreSQL {
		return []string{"TIMESTAMPTZ", "TIMESTAMP"}
	}
	return []string{"DATETIME", "TIMESTAMP"}
}
