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
	"strings"
	"time"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/statefile"
)

// initTimeout bounds the initialisation of a data folder, which takes MySQL 2 s and
// MariaDB 0.4 s on two cores.
const initTimeout = 3 * time.Minute

// open returns the account of the data folder, which it initialises if there is
// none.
func (l layout) open(ctx context.Context, b Binary, args []string) (account, error) {
	initialised, err := exists(l.data())
	if err != nil {
		return account{}, fmt.Errorf("open data folder: %w", err)
	}
	if !initialised {
		return l.initialise(ctx, b, args)
	}
	var a account
	err = statefile.Read(l.account(), &a)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return account{}, fmt.Errorf("data folder %s was not initialised by assay: choose another folder", l.data())
	case err != nil:
		return account{}, fmt.Errorf("open data folder: %w", err)
	case a.Binary.Flavour != b.Flavour:
		return account{}, fmt.Errorf("data folder %s was initialised by %s and cannot be opened by %s: use that server, or remove the folder",
			l.data(), a.Binary, b)
	}
	mask.Add(a.Password)
	return a, nil
}

// initialise makes the data folder in a staging directory, with root's password set,
// and moves it into place when it is complete. No server listens until then.
func (l layout) initialise(ctx context.Context, b Binary, args []string) (a account, err error) {
	if err := l.removeStaging(); err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	staging, err := os.MkdirTemp(l.dir, stagingPrefix)
	if err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()

	a = account{Binary: b, Password: rand.Text()}
	mask.Add(a.Password)
	args = CreationArgs(args)
	data := filepath.Join(staging, "data")
	var cmd *exec.Cmd
	if b.Flavour == MySQL {
		cmd, err = initMySQL(b, staging, data, a.Password, args)
	} else {
		cmd, err = initMariaDB(b, staging, data, a.Password, args)
	}
	if err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	if _, err := l.toEnd(ctx, "initialise data folder", initTimeout, cmd); err != nil {
		return account{}, err
	}
	// The account first: a data folder without it could not be used.
	if err := statefile.Write(l.account(), a); err != nil {
		return account{}, err
	}
	if err := os.Rename(data, l.data()); err != nil {
		return account{}, fmt.Errorf("initialise data folder: %w", err)
	}
	return a, nil
}

func initMySQL(b Binary, staging, data, password string, args []string) (*exec.Cmd, error) {
	sql := filepath.Join(staging, "accounts.sql")
	// Two accounts: the server does not resolve names, so that 'localhost' is only the
	// socket.
	text := strings.Join([]string{
		"ALTER USER root@localhost IDENTIFIED BY '" + password + "';",
		"CREATE USER root@127.0.0.1 IDENTIFIED BY '" + password + "';",
		"GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;", "",
	}, "\n")
	if err := os.WriteFile(sql, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return exec.Command(b.Path, append(append(isolated(),
		"--initialize-insecure", "--datadir="+data, "--tmpdir="+staging, "--init-file="+sql,
		"--secure-file-priv="+staging), args...)...), nil
}

// initMariaDB does what mariadb-install-db does; that script needs a program of the
// client package, which the server package does not contain.
func initMariaDB(b Binary, staging, data, password string, args []string) (*exec.Cmd, error) {
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
	// Through the pipe: the password is in no file and on no command line.
	statements = append(statements, strings.NewReader(strings.Join([]string{
		"FLUSH PRIVILEGES;",
		"CREATE OR REPLACE USER root@localhost IDENTIFIED BY '" + password + "';",
		"CREATE OR REPLACE USER root@127.0.0.1 IDENTIFIED BY '" + password + "';",
		"GRANT ALL ON *.* TO root@localhost WITH GRANT OPTION;",
		"GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;",
		// The scripts' accounts for this host's name have no password.
		"DELETE FROM mysql.global_priv WHERE Host NOT IN ('localhost', '127.0.0.1');", "",
	}, "\n")))
	cmd := exec.Command(b.Path, append(append(isolated(),
		"--bootstrap", "--silent-startup", "--datadir="+data, "--tmpdir="+staging, "--log-warnings=0",
		"--enforce-storage-engine=", "--max-allowed-packet=8M", "--net-buffer-length=16K"), args...)...)
	cmd.Stdin = io.MultiReader(statements...)
	return cmd, nil
}

// mariadbScripts create the system tables, in this order; those of the help texts are
// omitted.
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

// Exists reports whether a folder has the data of a server.
func Exists(dir string) (bool, error) {
	l, err := at(dir)
	if err != nil {
		return false, err
	}
	return exists(l.data())
}

// Copy copies the data and the password of a server that is stopped into another folder,
// whose data, if it has any, it replaces. The copy is another server: without the files of omit,
// which are patterns in the data folder, and without the identity of the first.
func Copy(from, to string, omit ...string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy database %s: %w", from, err)
		}
	}()
	source, err := at(from)
	if err != nil {
		return err
	}
	l, err := at(to)
	if err != nil {
		return err
	}
	if err := l.make(); err != nil {
		return err
	}
	for _, one := range []layout{source, l} {
		lock, err := one.takeLock()
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
	}
	if err := l.removeStaging(); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(l.dir, stagingPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	data := filepath.Join(staging, "data")
	// os.CopyFS keeps neither owners, modes nor holes.
	if out, err := exec.Command("cp", "-aT", "--reflink=auto", "--sparse=always", source.data(), data).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, pattern := range append(omit, "auto.cnf") { // MySQL's UUID of the server
		files, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	var a account
	if err := statefile.Read(source.account(), &a); err != nil {
		return err
	}
	if err := os.RemoveAll(l.data()); err != nil {
		return err
	}
	if err := statefile.Write(l.account(), a); err != nil {
		return err
	}
	return os.Rename(data, l.data())
}
