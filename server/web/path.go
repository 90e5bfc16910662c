package web

import "bytes"

// maxPath is the longest decoded path that can mean anything here, in bytes: a QR code's with a name of 128 bytes,
// and some to spare.
const maxPath = 160

// splitTarget returns path and query of a request target (RFC 9112 section 3.2) as they were sent: path without
// its first slash and without one last slash, query without its question mark.
func splitTarget(target []byte) (path, query []byte) {
	if len(target) > 0 && target[0] != '/' { // absolute form: http://host/path
		_, rest, ok := bytes.Cut(target, []byte("://"))
		if !ok {
			return target, nil // of an OPTIONS or a CONNECT, refused by their method
		}
		target = rest[pathStart(rest):]
	}
	path, query, _ = bytes.Cut(target, []byte{'?'})
	path = bytes.TrimPrefix(path, []byte{'/'})
	return bytes.TrimSuffix(path, []byte{'/'}), query
}

// pathStart returns where the authority of an absolute form ends.
func pathStart(rest []byte) int {
	if i := bytes.IndexAny(rest, "/?"); i >= 0 {
		return i
	}
	return len(rest)
}

// decode undoes percent-encoding once. The result is path itself or stands in buf. ok is false when an escape is
// not one, or when the result is too long to mean anything.
func decode(buf *[maxPath]byte, path []byte) (decoded []byte, ok bool) {
	if bytes.IndexByte(path, '%') < 0 {
		return path, len(path) <= maxPath
	}
	n := 0
	for i := 0; i < len(path); i++ {
		if n == maxPath {
			return nil, false
		}
		b := path[i]
		if b == '%' {
			if i+2 >= len(path) {
				return nil, false
			}
			high, low := unhex(path[i+1]), unhex(path[i+2])
			if high > 15 || low > 15 {
				return nil, false
			}
			b, i = high<<4|low, i+2
		}
		buf[n] = b
		n++
	}
	return buf[:n], true
}

// unhex returns the value of a hexadecimal digit, more than 15 for any other byte.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
