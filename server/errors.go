package server

import (
	"errors"
	"fmt"

	"curt/codec/weburl"
	"curt/server/link"
)

// replyError is an error whose text is the reply, its first word the code.
type replyError string

func (e replyError) Error() string { return string(e) }

// Texts that clients match, exactly Redis's.
const (
	errSyntax       replyError = "ERR syntax error"
	errNotInteger   replyError = "ERR value is not an integer or out of range"
	errInvalidCur   replyError = "ERR invalid cursor"
	errNoAuth       replyError = "NOAUTH Authentication required."
	errWrongPass    replyError = "WRONGPASS invalid username-password pair or user is disabled."
	errNoProto      replyError = "NOPROTO unsupported protocol version"
	errNoSuchKey    replyError = "ERR no such key"
	errDBIndex      replyError = "ERR DB index is out of range"
	errInternal     replyError = "ERR internal error"
	errDiskLow      replyError = "MISCONF the disk is nearly full: commands that grow the store are refused; BAN, UNBAN, DEL, EXPIRE and reads go on"
	errHelloNoAuth  replyError = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errGuessInMulti replyError = "ERR too many wrong passwords: authenticate outside of a transaction"
	errNotInMulti   replyError = "ERR Command not allowed inside a transaction"
	errMultiNested  replyError = "ERR MULTI calls can not be nested"
	errExecNoMulti  replyError = "ERR EXEC without MULTI"
	errDiscardMulti replyError = "ERR DISCARD without MULTI"
	errWatchInMulti replyError = "ERR WATCH inside MULTI is not allowed"
	errExecAbort    replyError = "EXECABORT Transaction discarded because of previous errors."
	errMonitoring   replyError = "ERR Replica can't interact with the keyspace"
	errTenant       replyError = "NOPERM No permissions to access another tenant"
	errProtoVersion replyError = "ERR Protocol version is not an integer or out of range"
)

func errArity(name string) error {
	return replyError(fmt.Sprintf("ERR wrong number of arguments for '%s' command", name))
}

func errExpireTime(name string) error {
	return replyError(fmt.Sprintf("ERR invalid expire time in '%s' command", name))
}

func errSubscribed(name string) error {
	return replyError(fmt.Sprintf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", name))
}

// known maps what the service says to words on the wire.
var known = []struct {
	err  error
	text replyError
}{
	{link.ErrNotFound, errNoSuchKey},
	{link.ErrExpired, "GONE expired"},
	{link.ErrUsedUp, "GONE used up"},
	{link.ErrBanned, "BANNED the link, its target or its host is banned"},
	{link.ErrExists, "EXISTS the name is taken"},
	{link.ErrReserved, "RESERVED the name belongs to a generated code, a banned link or one of the server's own pages"},
	{link.ErrBadName, "BADNAME a name is 1 to 128 of A-Z a-z 0-9 - . _ ~ and not dots only"},
	{link.ErrExhausted, "EXHAUSTED no free code was found"},
	{link.ErrOverloaded, "OVERLOADED the store is busy, nothing was changed"},
	{link.ErrThrottled, "THROTTLED too many new links, try again later"},
	{link.ErrDiskLow, errDiskLow},
	{link.ErrTenant, errTenant},
	{link.ErrOperatorsBan, "NOPERM the ban is an operator's, who alone can lift it"},
}

// errorText is the one place where an error becomes a reply. fault says that the error is ours: it is logged and masked.
func errorText(err error) (text string, fault bool) {
	var reply replyError
	if errors.As(err, &reply) {
		return string(reply), false
	}
	var bad *weburl.Error
	if errors.As(err, &bad) {
		return "BADURL " + bad.Error(), false
	}
	var arg *link.ArgError
	if errors.As(err, &arg) {
		return "ERR " + arg.Text, false
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return string(k.text), false
		}
	}
	return string(errInternal), true
}
