// hiredis, the C library, as old as Debian's 0.14: RESP2. Build: cc hiredis.c -lhiredis
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *host;
static int port;
static redisContext *client;

static void die(const char *what, const char *more) {
	fprintf(stderr, "%s: %s\n", what, more ? more : "?");
	exit(1);
}

static void ok(const char *step) {
	printf("ok %s\n", step);
	fflush(stdout);
}

static redisReply *checked(redisContext *c, redisReply *r) {
	if (!r) die("no reply", c->errstr);
	return r;
}

#define CALL(c, ...) checked(c, redisCommand(c, __VA_ARGS__))

// want frees a reply that must be a text.
static void want(redisReply *r, const char *text) {
	if (!r->str || strcmp(r->str, text)) die(text, r->str);
	freeReplyObject(r);
}

static void want_null(redisReply *r) {
	if (r->type != REDIS_REPLY_NIL) die("not null", r->str);
	freeReplyObject(r);
}

static void want_error(redisReply *r, const char *word) {
	if (r->type != REDIS_REPLY_ERROR || strncmp(r->str, word, strlen(word))) die(word, r->str);
	freeReplyObject(r);
}

static redisContext *open_connection(void) {
	redisContext *c = redisConnect(host, port);
	if (!c || c->err) die("connect", c ? c->errstr : NULL);
	redisReply *r = CALL(c, "CLIENT SETNAME matrix");
	if (r->type != REDIS_REPLY_STATUS) die("CLIENT SETNAME", r->str);
	freeReplyObject(r);
	return c;
}

static void pipeline(char codes[1000][64]) {
	for (int i = 0; i < 1000; i++) redisAppendCommand(client, "SHORTEN https://example.com/hiredis/%d", i);
	for (int i = 0; i < 1000; i++) {
		redisReply *r;
		if (redisGetReply(client, (void **)&r) != REDIS_OK || r->type != REDIS_REPLY_STRING) die("pipeline", client->errstr);
		snprintf(codes[i], 64, "%s", r->str);
		freeReplyObject(r);
	}
	for (int i = 1; i < 1000; i++)
		if (!strcmp(codes[i], codes[i - 1])) die("the same code", codes[i]);
	want(CALL(client, "GET %s", codes[999]), "https://example.com/hiredis/999");
	ok("pipeline");
}

static void multi(void) {
	want(CALL(client, "MULTI"), "OK");
	want(CALL(client, "SET hiredis-multi https://example.com/m"), "QUEUED");
	want(CALL(client, "GET hiredis-multi"), "QUEUED");
	want(CALL(client, "DEL hiredis-multi"), "QUEUED");
	redisReply *r = CALL(client, "EXEC");
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 3 || strcmp(r->element[1]->str, "https://example.com/m") || r->element[2]->integer != 1)
		die("EXEC", r->str);
	freeReplyObject(r);
	ok("multi");
}

static void scan(void) {
	char cursor[32] = "0";
	int found = 0;
	do {
		redisReply *r = CALL(client, "SCAN %s COUNT 1000", cursor);
		if (r->type != REDIS_REPLY_ARRAY || r->elements != 2) die("SCAN", r->str);
		snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
		found += r->element[1]->elements;
		freeReplyObject(r);
	} while (strcmp(cursor, "0"));
	if (found < 10000) die("SCAN found too few", cursor);
	ok("scan");
}

static void ban(const char *code) {
	redisContext *subscriber = open_connection();
	redisReply *r = CALL(subscriber, "SUBSCRIBE link:%s", code);
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 3 || strcmp(r->element[0]->str, "subscribe")) die("SUBSCRIBE", r->str);
	freeReplyObject(r);
	redisReply *banned = CALL(client, "BAN %s", code);
	if (strcmp(banned->str, "OK")) die("BAN", banned->str);
	freeReplyObject(banned);
	if (redisGetReply(subscriber, (void **)&r) != REDIS_OK) die("subscriber", subscriber->errstr);
	if (r->elements != 3 || strcmp(r->element[0]->str, "message") || !strstr(r->element[2]->str, "\"banned\"")) die("not heard of the ban", code);
	freeReplyObject(r);
	redisFree(subscriber);
	want_null(CALL(client, "GET %s", code));
	want_error(CALL(client, "RESOLVE %s", code), "BANNED");
	ok("ban");
}

static void reconnect(const char *code) {
	char line[8];
	printf("restart\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin)) die("restart", "no line");
	redisReply *lost = redisCommand(client, "PING");
	if (lost) die("the old connection lives", lost->str);
	for (int i = 0; redisReconnect(client) != REDIS_OK; i++) {
		if (i == 400) die("reconnect", client->errstr);
		usleep(50000);
	}
	want(CALL(client, "GET %s", code), "https://example.com/hiredis/2");
	ok("reconnect");
}

int main(int argc, char **argv) {
	static char codes[1000][64];
	char code[64];
	if (argc != 3) die("usage", "hiredis HOST PORT");
	host = argv[1];
	port = atoi(argv[2]);
	client = open_connection();
	want(CALL(client, "PING"), "PONG");
	want(CALL(client, "CLIENT GETNAME"), "matrix");
	ok("connect");
	redisReply *r = CALL(client, "SHORTEN %s", "https://example.com/hiredis/one");
	snprintf(code, sizeof code, "%s", r->str);
	freeReplyObject(r);
	want(CALL(client, "SHORTEN %s", "https://example.com/hiredis/one"), code);
	ok("shorten");
	want(CALL(client, "RESOLVE %s", code), "https://example.com/hiredis/one");
	want_null(CALL(client, "RESOLVE no-such-code"));
	ok("resolve");
	want(CALL(client, "GET %s", code), "https://example.com/hiredis/one");
	want_null(CALL(client, "GET no-such-code"));
	ok("get");
	pipeline(codes);
	multi();
	scan();
	ban(code);
	want_error(CALL(client, "SHORTEN ftp://example.com/"), "BADURL bad_scheme");
	want(CALL(client, "PING"), "PONG");
	ok("error");
	reconnect(codes[2]);
	redisFree(client);
	printf("done hiredis %d.%d.%d\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
	return 0;
}
