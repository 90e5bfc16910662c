package main

import (
	"bufio"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"curt/codec/weburl"
	"curt/server/transfer"
)

// The setters below make one of an option's field.

func text(field func(*settings) *string) func(*settings, string) error {
	return func(s *settings, v string) error { *field(s) = v; return nil }
}

// filled is a text that can't be empty: --dir "$UNSET" must not be the default folder.
func filled(field func(*settings) *string) func(*settings, string) error {
	return func(s *settings, v string) error {
		if v == "" {
			return fmt.Errorf("must not be empty")
		}
		*field(s) = v
		return nil
	}
}

func number(field func(*settings) *int, low, high int) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("must be a number from %d to %d", low, high)
		}
		*field(s) = n
		return nil
	}
}

func number64(field func(*settings) *uint64, low, high int) func(*settings, string) error {
	return func(s *settings, v string) error {
		var n int
		err := number(func(*settings) *int { return &n }, low, high)(s, v)
		*field(s) = uint64(n)
		return err
	}
}

func seconds(field func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return fmt.Errorf("must be a number of seconds")
		}
		*field(s) = time.Duration(n) * time.Second
		return nil
	}
}

// duration reads a time span in Go's notation, or in days.
func duration(field func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, v string) error {
		d, err := time.ParseDuration(v)
		if days, ok := strings.CutSuffix(v, "d"); ok {
			var n uint64
			n, err = strconv.ParseUint(days, 10, 16)
			d = time.Duration(n) * 24 * time.Hour
		}
		if err != nil || d <= 0 {
			return fmt.Errorf("must be a time span as 30d, 12h or 90m")
		}
		*field(s) = d
		return nil
	}
}

func decimal(field func(*settings) *float64, low, high float64) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(n) || n < low || n > high {
			return fmt.Errorf("must be a number from %v to %v", low, high)
		}
		*field(s) = n
		return nil
	}
}

func slowlogThreshold(s *settings, v string) error {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < -1 {
		return fmt.Errorf("must be a number of microseconds, 0 or -1")
	}
	s.SlowlogThreshold = time.Duration(n) * time.Microsecond
	if n == 0 {
		s.SlowlogThreshold = 1 // the shortest there is: 0 would mean the default
	}
	return nil
}

// noYes is yesNo of a field that says no.
func noYes(field func(*settings) *bool) func(*settings, string) error {
	return choice(field, named[bool]{"yes", false}, named[bool]{"no", true})
}

func yesNo(field func(*settings) *bool) func(*settings, string) error {
	return choice(field, named[bool]{"yes", true}, named[bool]{"no", false})
}

// named is a value with the word that stands for it.
type named[T any] struct {
	name  string
	value T
}

func choice[T any](field func(*settings) *T, choices ...named[T]) func(*settings, string) error {
	return func(s *settings, v string) error {
		i := slices.IndexFunc(choices, func(c named[T]) bool { return c.name == v })
		if i < 0 {
			names := make([]string, len(choices))
			for i, c := range choices {
				names[i] = c.name
			}
			return fmt.Errorf("must be one of %s", strings.Join(names, ", "))
		}
		*field(s) = choices[i].value
		return nil
	}
}

func size(field func(*settings) *int64) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := parseSize(v)
		if err == nil {
			*field(s) = n
		}
		return err
	}
}

// parseSize reads a number of bytes, at least 1: 1048576, 1024KiB, 1mb. Units are powers of 1024, in any case.
func parseSize(v string) (int64, error) {
	v = strings.ToLower(v)
	digits := strings.TrimRight(v, "kmgib")
	shift, ok := map[string]int{"": 0, "kib": 10, "kb": 10, "mib": 20, "mb": 20, "gib": 30, "gb": 30}[v[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil || n == 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("must be a size as 300000000, 512MiB or 2gb")
	}
	return int64(n) << shift, nil
}

// each calls fn with the words of a list with commas; the empty value is no word.
func each(v string, fn func(string) error) error {
	for word := range strings.SplitSeq(v, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if err := fn(word); err != nil {
			return err
		}
	}
	return nil
}

func addresses(s *settings, v string) error {
	return each(v, func(word string) error {
		if word == "unix:" {
			return fmt.Errorf("unix: needs the path of a socket")
		}
		s.resp = append(s.resp, word)
		return nil
	})
}

func allowHosts(s *settings, v string) error {
	return each(v, func(word string) error {
		a, err := weburl.ParseAllowed(word)
		if err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		s.AllowHosts = append(s.AllowHosts, a)
		return nil
	})
}

func trustedProxies(s *settings, v string) error {
	return each(v, func(word string) error {
		p, err := netip.ParsePrefix(word)
		if addr, aerr := netip.ParseAddr(word); aerr == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q is neither an address nor a CIDR", word)
		}
		s.HTTP.TrustedProxies = append(s.HTTP.TrustedProxies, p.Masked())
		return nil
	})
}

func neverBan(s *settings, v string) error {
	return each(v, func(word string) error {
		if _, err := weburl.ParseHost(word); err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		s.NeverBan = append(s.NeverBan, word)
		return nil
	})
}

// blockedWords reads a file of words, one a line. An empty file means that no word is blocked.
func blockedWords(s *settings, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s.BlockedWords = []string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if word := strings.TrimSpace(lines.Text()); word != "" && word[0] != '#' {
			s.BlockedWords = append(s.BlockedWords, word)
		}
	}
	return lines.Err()
}

// snowflakeEpoch reads the day from which snowflake ids count.
func snowflakeEpoch(s *settings, v string) (err error) {
	if s.Snowflake.Epoch, err = time.Parse(time.DateOnly, v); err != nil {
		return fmt.Errorf("must be a day as 2024-01-01")
	}
	return nil
}

func snowflakeJitter(s *settings, v string) error {
	err := snowflakePart(func(s *settings) *int64 { return &s.Snowflake.Jitter })(s, v)
	if err == nil && s.Snowflake.Jitter == 0 {
		s.Snowflake.Jitter = -1 // none; 0 is its default
	}
	return err
}

// snowflakePart is for what fits in the widest part of a snowflake id.
func snowflakePart(field func(*settings) *int64) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.ParseUint(v, 10, 20)
		if err != nil {
			return fmt.Errorf("must be a number from 0 to 1048575")
		}
		*field(s) = int64(n)
		return nil
	}
}

func unixPerm(s *settings, v string) error {
	switch v {
	case "0700", "700":
		s.unixPerm = 0o700
	case "0770", "770":
		s.unixPerm = 0o770
	default:
		return fmt.Errorf("must be 0700 or 0770")
	}
	return nil
}

func format(s *settings, v string) error {
	var choices []named[transfer.Format]
	for _, f := range transfer.Formats() {
		choices = append(choices, named[transfer.Format]{string(f), f})
	}
	return choice(func(s *settings) *transfer.Format { return &s.format }, choices...)(s, v)
}
