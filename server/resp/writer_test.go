package resp

import (
	"math"
	"testing"
)

func TestWriter(t *testing.T) {
	f := func(write func(*Writer), resp2, resp3 string) {
		t.Helper()
		for proto, want := range map[int]string{2: resp2, 3: resp3} {
			w := NewWriter(proto)
			if write(w); string(w.Bytes()) != want {
				t.Errorf("RESP%d: got %q, want %q", proto, w.Bytes(), want)
			}
		}
	}
	same := func(write func(*Writer), want string) { t.Helper(); f(write, want, want) }

	same(func(w *Writer) { w.SimpleString("OK") }, "+OK\r\n")
	same(func(w *Writer) { w.SimpleString("a\r\nb") }, "+a  b\r\n")
	same(func(w *Writer) { w.Error("ERR a\r\n+OK\nb") }, "-ERR a  +OK b\r\n")
	same(func(w *Writer) { w.Int(-7) }, ":-7\r\n")
	same(func(w *Writer) { w.Int(math.MinInt64) }, ":-9223372036854775808\r\n")
	same(func(w *Writer) { w.Bulk([]byte("a\r\n\x00")) }, "$4\r\na\r\n\x00\r\n")
	same(func(w *Writer) { w.Bulk(nil) }, "$0\r\n\r\n")
	same(func(w *Writer) { w.BulkString("héllo") }, "$6\r\nhéllo\r\n")
	same(func(w *Writer) { w.BulkUint(math.MaxUint64) }, "$20\r\n18446744073709551615\r\n")
	same(func(w *Writer) { w.BulkInt(math.MinInt64) }, "$20\r\n-9223372036854775808\r\n")
	same(func(w *Writer) { w.Array(0) }, "*0\r\n")
	same(func(w *Writer) { w.Array(3) }, "*3\r\n")
	same(func(w *Writer) { w.Raw([]byte("+x\r\n")) }, "+x\r\n")
	f(func(w *Writer) { w.Map(2) }, "*4\r\n", "%2\r\n")
	f(func(w *Writer) { w.Set(2) }, "*2\r\n", "~2\r\n")
	f(func(w *Writer) { w.Push(2) }, "*2\r\n", ">2\r\n")
	f(func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n")
	f(func(w *Writer) { w.NullArray() }, "*-1\r\n", "_\r\n")
	f(func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n")
	f(func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n")
	f(func(w *Writer) { w.Double(3.25) }, "$4\r\n3.25\r\n", ",3.25\r\n")
	f(func(w *Writer) { w.Double(1e21) }, "$5\r\n1e+21\r\n", ",1e+21\r\n")
	f(func(w *Writer) { w.Double(math.Inf(1)) }, "$3\r\ninf\r\n", ",inf\r\n")
	f(func(w *Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n")
	f(func(w *Writer) { w.Double(math.NaN()) }, "$3\r\nnan\r\n", ",nan\r\n")
	f(func(w *Writer) { w.Verbatim("txt", "a b") }, "$3\r\na b\r\n", "=7\r\ntxt:a b\r\n")
}

func TestTruncate(t *testing.T) {
	w := NewWriter(2)
	w.Int(1)
	n := w.Len()
	w.Array(5)
	w.Int(2)
	w.Truncate(n)
	w.Truncate(1000)
	if string(w.Bytes()) != ":1\r\n" {
		t.Errorf("got %q", w.Bytes())
	}
}

func TestWriterAllocatesNothing(t *testing.T) {
	w := NewWriter(3)
	value := []byte("https://go.dev/")
	n := testing.AllocsPerRun(100, func() {
		w.Truncate(0)
		w.Map(2)
		w.BulkString("a")
		w.Bulk(value)
		w.BulkUint(12345678901234567890)
		w.BulkInt(-5)
		w.Double(1.0 / 3)
		w.Bool(true)
		w.Null()
		w.Error("ERR x")
		w.Verbatim("txt", "x")
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
