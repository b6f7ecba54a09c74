//go:build live && !long

package run_test

// alone: tests have the machine for themselves (make long).
const alone = false

// flavours are the database servers of tests that do the same with each.
var flavours = []string{"mariadb"}
