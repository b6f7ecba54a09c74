//go:build long

package exam

import "testing"

// TestAllMySQL goes through all cases on MySQL (make exam).
func TestAllMySQL(t *testing.T) { scoreMySQL(t, examine(t, "mysql", exercises)) }

// TestAllMariaDB goes through all cases on MariaDB (make exam).
func TestAllMariaDB(t *testing.T) { scoreMariaDB(t, examine(t, "mariadb", exercises)) }
