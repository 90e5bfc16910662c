package main

import (
	"net"
	"os"
	"strings"
)

// notify tells systemd how the server is ("READY=1", "STOPPING=1"), where it was started as a unit of Type=notify. Otherwise, and
// when nobody hears it, it does nothing: the server's work does not depend on it. See sd_notify(3).
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if name, ok := strings.CutPrefix(path, "@"); ok {
		path = "\x00" + name // Linux's sockets without a file
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte(state))
}
