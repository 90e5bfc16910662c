package resp

// inline reads a command written as a line, the way of telnet and of
// redis-benchmark's PING_INLINE. ok reports whether the line was whole; it may
// hold no word.
func (p *parser) inline() (args [][]byte, ok bool, err error) {
	line, ok := p.line()
	if !ok {
		if p.tooLong() {
			return nil, false, errInlineTooLong
		}
		return nil, false, nil
	}
	if int64(len(line)) > p.limits.MaxInline.Load() {
		return nil, false, errInlineTooLong
	}
	p.pos += len(line) + 1
	p.advance()
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	p.args, ok = splitInline(p.args[:0], line)
	switch {
	case !ok:
		return nil, false, errQuotes
	case int64(len(p.args)) > p.limits.MaxWords.Load():
		return nil, false, errInlineTooLong
	}
	return p.args, true, nil
}

// splitInline appends the words of line to args by the rules of Redis's
// sdssplitargs: words are separated by blanks; "..." knows \n \r \t \b \a \xHH
// and takes any other escaped byte as it is; '...' knows only \'; a closing
// quote ends its word. It unescapes in place. ok is false when quotes don't
// balance. A NUL byte, which ends Redis's C string, is an ordinary byte here.
func splitInline(args [][]byte, line []byte) (_ [][]byte, ok bool) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return args, true
		}
		start, end := i, i // the word is unescaped into line[start:end]
		for i < len(line) && !isSeparator(line[i]) {
			c := line[i]
			if c != '"' && c != '\'' {
				line[end] = c
				end, i = end+1, i+1
				continue
			}
			end, i = unquote(line, end, i)
			if i < 0 || i < len(line) && !isSpace(line[i]) {
				return nil, false
			}
			break
		}
		args = append(args, line[start:end:end])
	}
}

// unquote copies what line[i], a quote, begins to line[end:] and returns the
// new end and the index behind the closing quote, or -1 when there is none.
func unquote(line []byte, end, i int) (int, int) {
	quote := line[i]
	for i++; i < len(line); end, i = end+1, i+1 {
		c := line[i]
		switch {
		case c == quote:
			return end, i + 1
		case c == '\\' && quote == '"' && i+1 < len(line):
			c, i = escape(line, i+1)
		case c == '\\' && quote == '\'' && i+1 < len(line) && line[i+1] == '\'':
			c, i = '\'', i+1
		}
		line[end] = c
	}
	return end, -1
}

// escape decodes what follows a backslash, at i, and returns the byte and the
// index of the last byte it took.
func escape(line []byte, i int) (byte, int) {
	switch c := line[i]; c {
	case 'n':
		return '\n', i
	case 'r':
		return '\r', i
	case 't':
		return '\t', i
	case 'b':
		return '\b', i
	case 'a':
		return '\a', i
	case 'x':
		if i+2 < len(line) {
			hi, ok1 := hexDigit(line[i+1])
			lo, ok2 := hexDigit(line[i+2])
			if ok1 && ok2 {
				return hi<<4 | lo, i + 2
			}
		}
		return c, i
	default:
		return c, i
	}
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// isSpace is C's isspace; isSeparator is what ends an unquoted word.
func isSpace(c byte) bool     { return c == ' ' || '\t' <= c && c <= '\r' }
func isSeparator(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
