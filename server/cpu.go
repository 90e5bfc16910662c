package server

import (
	"fmt"
	"strings"
	"syscall"
)

// infoCPU tells what the process has used so far.
func (s *Server) infoCPU(b *strings.Builder) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return
	}
	seconds := func(t syscall.Timeval) string { return fmt.Sprintf("%d.%06d", t.Sec, t.Usec) }
	line(b, "used_cpu_sys", seconds(u.Stime))
	line(b, "used_cpu_user", seconds(u.Utime))
}
