// Package mysqld runs one MySQL or MariaDB server as a child process.
//
// Input: a folder, a port and a server binary of the system's packages. Output: a
// Server that answers on the loopback address, with everything it owns (data,
// log, socket, password) below that folder. It never reads the configuration of
// a system instance and never touches its data.
package mysqld
