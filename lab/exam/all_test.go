//go:build long

package exam

import "testing"

// TestAllMySQL runs all cases on MySQL (make exam).
func TestAllMySQL(t *testing.T) { scoreMySQL(t, examine(t, "mysql", cases, maxOtherCPUs)) }

// TestAllMariaDB runs all cases on MariaDB (make exam).
func TestAllMariaDB(t *testing.T) { scoreMariaDB(t, examine(t, "mariadb", cases, maxOtherCPUs)) }
