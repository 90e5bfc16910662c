// Package resp is everything between a socket and a command handler: it
// frames what clients send, gates what they get back, and knows no command.
//
// A client's bytes are parsed once, by the strict parser of this package, and
// never reach redcon: redcon's own parser can be killed by 22 bytes and grows
// without bound on a pipeline that is not aligned. redcon runs the connection
// loop. Whenever a connection holds at least one whole command, its Read hands
// redcon one constant 16-byte command, the bell; redcon calls the server's
// handler, which runs every command that is buffered, and then asks for a
// flush, which lets the replies of the batch out. A command costs no allocation
// and no copy; the bell costs three small ones a batch. Against redcon's parser
// that is a tenth of the time at a depth of 1,000, and nothing at a depth of 1,
// where system calls are all that counts.
//
//	socket -> fill -> parser -> bell -> redcon -> Handler.Command ... -> flush
//	                                                                       |
//	socket <- releaser, or send <- writer <- queue <- (debt not synced) <--+
//	socket <- send <--------------------------------- (no debt) <----------+
//
// Reading (read.go, parse.go, inline.go). One goroutine, redcon's, owns a
// connection: it reads, parses, runs handlers and flushes. The words given to
// a handler are slices of the read buffer. A connection at rest keeps 4 KiB;
// one that streams reads 32 KiB at a time from a pool; larger commands get
// their own buffer, dropped when they are done.
//
// Writing (gate.go, release.go). A handler appends to Conn.W. The flush after
// the batch is the gate: bytes that owe a sync (Conn.Owe) wait in an ordered
// queue for it, while the owner reads on, until the window is full. After the
// sync one goroutine, the releaser, sends what waited, without waiting for any
// peer; what does not go at once is sent by a writer goroutine of the connection,
// which lives as long as the queue has something in it. Pushes from other
// goroutines enter the same queue, behind the replies of a running batch.
// There is no other way out: QUIT, protocol errors, early flushes and the
// drain end in the same flush.
//
// Time (sweep.go). No deadline is set on the hot path: a goroutine looks at
// all connections twice a second and ends those that are late, as Redis does.
package resp
