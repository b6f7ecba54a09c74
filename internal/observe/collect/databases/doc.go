// Package databases lists the drivers of the supported database families and selects
// the one for a DSN.
//
// To add a family, write a package next to collect/mysql with a Driver, add a line to
// drivers, and describe its waits in a file of package wait and in docs/databases.md. Its Store
// need not speak SQL: the queries of a profile's ledger are in the family's own language. To
// read waits from elsewhere, as from Performance Insights, add a line to waits.
//
// Input: a DSN. Output: its driver, and shortcuts to the driver's methods.
package databases
