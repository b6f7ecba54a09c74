package mysqld

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/harness/servers/process"
	"assay/harness/servers/statefile"
)

// initTimeout bounds the making of a data folder: 2 s for MySQL and 0.4 s for
// MariaDB on two cores.
const initTimeout = 3 * time.Minute

// open returns the account of the data folder, which is made first if there is
// none.
func (l layout) open(ctx context.Context, b Binary, args []string) (account, error) {
	made, err := exists(l.data())
	if err != nil {
		return account{}, fmt.Errorf("open data folder: %w", err)
	}
	if !made {
		return l.initialise(ctx, b, args)
	}
	var a account
	err = statefile.Read(l.account(), &a)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return account{}, fmt.Errorf("data folder %s was not made by assay: choose another folder", l.data())
	case err != nil:
		return account{}, fmt.Errorf("open data folder: %w", err)
	case a.Binary.Flavour != b.Flavour:
		return account{}, fmt.Errorf("data folder %s was made by %s and cannot be opened by %s: use that server, or remove the folder",
			l.data(), a.Binary, b)
	}
	return a, nil
}

// initialise makes the data folder under another name, with root's password
// set, and renames it when it is whole. The server never listens before that.
func (l layout) initialise(ctx context.Context, b Binary, args []string) (a account, err error) {
	if err := l.sweep(); err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	womb, err := os.MkdirTemp(l.dir, unborn)
	if err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(womb)) }()

	a = account{Binary: b, Password: rand.Text()}
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return !slices.Contains(creation, optionName(arg))
	})
	data := filepath.Join(womb, "data")
	var cmd *exec.Cmd
	if b.Flavour == MySQL {
		cmd, err = initMySQL(b, womb, data, a.Password, args)
	} else {
		cmd, err = initMariaDB(b, womb, data, a.Password, args)
	}
	if err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	if err := l.runInit(ctx, cmd, a.Password); err != nil {
		return account{}, err
	}
	// The account first: alone it does no harm, a data folder without it is lost.
	if err := statefile.Write(l.account(), a); err != nil {
		return account{}, err
	}
	if err := os.Rename(data, l.data()); err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	return a, nil
}

func initMySQL(b Binary, womb, data, password string, args []string) (*exec.Cmd, error) {
	sql := filepath.Join(womb, "accounts.sql")
	// CREATE beside ALTER: the server does not resolve names, so that
	// 'localhost' is only the socket.
	text := strings.Join([]string{
		"ALTER USER root@localhost IDENTIFIED BY '" + password + "';",
		"CREATE USER root@127.0.0.1 IDENTIFIED BY '" + password + "';",
		"GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;", "",
	}, "\n")
	if err := os.WriteFile(sql, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return exec.Command(b.Path, append(append(isolated(),
		"--initialize-insecure", "--datadir="+data, "--tmpdir="+womb, "--init-file="+sql,
		"--secure-file-priv="+womb), args...)...), nil
}

// initMariaDB does what mariadb-install-db does; the script itself needs a
// program of the client package, which the server package does not bring.
func initMariaDB(b Binary, womb, data, password string, args []string) (*exec.Cmd, error) {
	share, err := mariadbShare(b.Path)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	statements := []io.Reader{strings.NewReader("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")}
	for _, name := range mariadbScripts {
		text, err := os.ReadFile(filepath.Join(share, name))
		if err != nil {
			return nil, err
		}
		statements = append(statements, strings.NewReader(string(text)+"\n"))
	}
	// By the pipe alone: the password is never in a file or a command line.
	statements = append(statements, strings.NewReader(strings.Join([]string{
		"FLUSH PRIVILEGES;",
		"CREATE OR REPLACE USER root@localhost IDENTIFIED BY '" + password + "';",
		"CREATE OR REPLACE USER root@127.0.0.1 IDENTIFIED BY '" + password + "';",
		"GRANT ALL ON *.* TO root@localhost WITH GRANT OPTION;",
		"GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;",
		// What the scripts made for the name of this host has no password.
		"DELETE FROM mysql.global_priv WHERE Host NOT IN ('localhost', '127.0.0.1');", "",
	}, "\n")))
	cmd := exec.Command(b.Path, append(append(isolated(),
		"--bootstrap", "--silent-startup", "--datadir="+data, "--tmpdir="+womb, "--log-warnings=0",
		"--enforce-storage-engine=", "--max-allowed-packet=8M", "--net-buffer-length=16K"), args...)...)
	cmd.Stdin = io.MultiReader(statements...)
	return cmd, nil
}

// mariadbScripts make the system tables, in this order. The help texts are left
// out: nobody reads them here.
var mariadbScripts = []string{
	"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql",
	"maria_add_gis_sp_bootstrap.sql", "mysql_sys_schema.sql",
}

func mariadbShare(path string) (string, error) {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	prefix := filepath.Dir(filepath.Dir(path)) // /usr/sbin/mariadbd -> /usr
	for _, name := range []string{"mysql", "mariadb"} {
		share := filepath.Join(prefix, "share", name)
		if ok, err := exists(filepath.Join(share, mariadbScripts[0])); err == nil && ok {
			return share, nil
		}
	}
	return "", fmt.Errorf("no %s below %s: install the whole server package, such as mariadb-server-core",
		mariadbScripts[0], filepath.Join(prefix, "share"))
}

// runInit runs the command to its end, or until ctx ends.
func (l layout) runInit(ctx context.Context, cmd *exec.Cmd, password string) error {
	ctx, cancel := context.WithTimeout(ctx, initTimeout)
	defer cancel()
	log, from, err := l.openLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = environment()
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		return fmt.Errorf("initialise data folder: %w", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("initialise data folder: %w", context.Cause(ctx)), child.Kill())
	}
	if err := child.Err(); err != nil {
		return failure("initialise data folder", l, from, err, password)
	}
	return nil
}
