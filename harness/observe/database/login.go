package database

// Login is the user and the password of a DSN.
func Login(dsn string) (user, password string, err error) {
	if FamilyOf(dsn) == PostgreSQL {
		return loginPostgreSQL(dsn)
	}
	c, err := Parse(dsn)
	if err != nil {
		return "", "", err
	}
	return c.User, c.Passwd, nil
}

// WithPassword is a DSN, which Login reads, with this password.
func WithPassword(dsn, password string) string {
	if FamilyOf(dsn) == PostgreSQL {
		return withPasswordPostgreSQL(dsn, password)
	}
	c, err := Parse(dsn)
	if err != nil {
		return dsn
	}
	c.Passwd = password
	return c.FormatDSN()
}

// Address is where the server of a DSN listens, as host:port; empty for one
// behind a socket file of this machine, and not ok where the DSN is none.
func Address(dsn string) (address string, ok bool) {
	if FamilyOf(dsn) == PostgreSQL {
		return addressPostgreSQL(dsn)
	}
	c, err := Parse(dsn)
	if dsn == "" || err != nil {
		return "", false
	}
	if c.Net == "unix" {
		return "", true
	}
	return c.Addr, true
}
