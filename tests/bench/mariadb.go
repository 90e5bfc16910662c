package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// What a link is in a table, and what makes one. The server makes up the code, so that the load is one short statement.
const (
	linksTable = "create table links (code varchar(16) character set ascii primary key, url text not null, created datetime not null)"
	insertLink = "insert into links values (left(md5(uuid_short()), 16), concat('" + target + "', uuid_short()), now())"
)

// mariadb starts a server with a data folder of its own. Each commit is on the disk before it is acknowledged; there is no binary log.
func (b *bench) mariadb() (*server, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	args := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data")}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	if out, err := exec.Command("mariadb-install-db", append(args, "--auth-root-authentication-method=normal", "--skip-test-db")...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	// The socket's path is relative to the data folder: an absolute one may be longer than sockets' paths may be.
	args = append(args, "--bind-address=127.0.0.1", "--socket=socket", "--skip-name-resolve", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=1")
	return b.onFreePort(func(port int) (*server, error) {
		return b.start("ready for connections", "mariadbd", append(slices.Clone(args), "--port="+strconv.Itoa(port))...)
	})
}

var slapSeconds = regexp.MustCompile(`Average number of seconds to run all queries: ([0-9.]+)`)

// insertBy50 fills a new table by 50 connections, a statement and commit at a time.
func insertBy50(s *server) (float64, float64, error) {
	n := 2500 * *seconds
	out, err := exec.Command("mariadb-slap", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--port="+strconv.Itoa(s.port), "--user=root",
		"--create-schema=bench", "--create="+linksTable, "--query="+insertLink, "--concurrency=50", "--number-of-queries="+strconv.Itoa(n)).CombinedOutput()
	m := slapSeconds.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, 0, fmt.Errorf("mariadb-slap: %w: %s", err, out)
	}
	took, err := strconv.ParseFloat(string(m[1]), 64)
	if err == nil && took == 0 {
		err = fmt.Errorf("mariadb-slap took no time: %s", out)
	}
	return float64(n), float64(n) / took, err
}
