package transfer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"curt/server/link"
)

// timeLayouts are the ways in which times are written, apart from numbers. Without a zone they are UTC.
var timeLayouts = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04",
	time.DateOnly, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05-07:00", time.RFC1123, time.RFC1123Z,
}

// secondsUntil is where a number of seconds would be the year 5138: a larger one counts milliseconds.
const secondsUntil = 100_000_000_000

// parseTime reads a time as unix milliseconds UTC: a date, or a number of seconds or milliseconds. Nothing is 0, and so is MySQL's zero date.
func parseTime(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.EqualFold(text, "null") || strings.HasPrefix(text, "0000-00-00") {
		return 0, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < math.MaxInt64 {
		if n < secondsUntil {
			n *= 1000
		}
		return int64(n), nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			if t.UnixMilli() < 0 {
				return 0, fmt.Errorf("%q lies before 1970", text)
			}
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%.40q is no time: 2026-01-31, 2026-01-31T12:00:00Z or a unix time is", text)
}

// parseCount reads a number that is not negative. Nothing is 0.
func parseCount(text string) (uint64, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.EqualFold(text, "null") {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	return n, nil
}

// parseTags splits a list of tags at | or, when there is none, at commas.
func parseTags(text string) []string {
	separator := ","
	if strings.Contains(text, "|") {
		separator = "|"
	}
	return cleanTags(strings.Split(text, separator))
}

func cleanTags(list []string) []string {
	var tags []string
	for _, tag := range list {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// cleanTitle makes a title that a link may have of one that somebody's page has: blanks for control characters, and no more
// than fits.
func cleanTitle(text string) (title string, cut bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= link.MaxTitle {
		return text, false
	}
	end := link.MaxTitle
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimSpace(text[:end]), true
}

// lastSegment is the code in a short URL: what stands behind its last slash.
func lastSegment(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "?")
	text = strings.Trim(text, "/")
	return text[strings.LastIndexByte(text, '/')+1:]
}
