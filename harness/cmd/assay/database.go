package main

import (
	"strings"

	"github.com/go-sql-driver/mysql"
)

// databaseDSN joins --db, which holds no password, with ASSAY_DB, which does.
func databaseDSN(flag, env string) (string, error) {
	secret, err := mysql.ParseDSN(env)
	if env != "" && err != nil {
		return "", &usageError{"ASSAY_DB is not a DSN", "like user:password@tcp(127.0.0.1:3306)/shop"}
	}
	if flag == "" {
		return env, nil
	}
	c, err := mysql.ParseDSN(flag)
	switch {
	case err != nil:
		return "", &usageError{"--db is not a DSN", "like user@tcp(127.0.0.1:3306)/shop"}
	case c.Passwd != "" || strings.Contains(flag[:max(0, strings.LastIndex(flag, "@"))], ":"):
		return "", &usageError{"--db holds a password, which everybody on this host can read", "leave it out and set ASSAY_DB to the whole DSN"}
	case env != "" && secret.User == c.User:
		c.Passwd = secret.Passwd
	}
	return c.FormatDSN(), nil
}
