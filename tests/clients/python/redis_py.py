"""redis-py. It asks for nothing newer than Debian's python3-redis."""
import json
import sys
import time

import redis

host, port = sys.argv[1], int(sys.argv[2])


def target(n):
    return f"https://example.com/python/{n}"


def ok(step):
    print("ok", step, flush=True)


def fails(word, *command):
    try:
        client.execute_command(*command)
    except redis.ResponseError as e:
        assert str(e).startswith(word), e
    else:
        raise AssertionError(f"{command} did not fail")


def again(fn):
    end = time.monotonic() + 20
    while True:
        try:
            return fn()
        except redis.ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


client = redis.Redis(host, port, decode_responses=True, client_name="matrix")
assert client.ping()
assert client.client_getname() == "matrix"
ok("connect")

code = client.execute_command("SHORTEN", target("one"))
assert client.execute_command("SHORTEN", target("one")) == code
ok("shorten")
assert client.execute_command("RESOLVE", code) == target("one")
assert client.execute_command("RESOLVE", "no-such-code") is None
ok("resolve")
assert client.get(code) == target("one")
assert client.get("no-such-code") is None
ok("get")

with client.pipeline(transaction=False) as pipe:
    for i in range(1000):
        pipe.execute_command("SHORTEN", target(i))
    codes = pipe.execute()
assert len(set(codes)) == 1000
assert client.get(codes[999]) == target(999)
ok("pipeline")

with client.pipeline() as pipe:  # MULTI and EXEC around it, and WATCH before
    pipe.watch("python-multi")
    assert pipe.get("python-multi") is None
    pipe.multi()
    pipe.set("python-multi", target("m")).get("python-multi").delete("python-multi")
    assert pipe.execute() == [True, target("m"), 1]
ok("multi")

seen = set(client.scan_iter(count=1000))
assert len(seen) >= 10_000 and code in seen, len(seen)
ok("scan")

with client.pubsub() as subscriber:
    subscriber.subscribe(f"link:{code}")
    assert subscriber.get_message(timeout=20)["type"] == "subscribe"
    assert client.execute_command("BAN", code)
    message = subscriber.get_message(timeout=20)
    assert message["type"] == "message" and json.loads(message["data"])["event"] == "banned", message
assert client.get(code) is None
fails("BANNED", "RESOLVE", code)
ok("ban")

fails("BADURL bad_scheme", "SHORTEN", "ftp://example.com/")
assert client.ping()
assert client.info()["loading"] == 0 and client.info("keyspace")["db0"]["keys"] >= 10_000
assert client.config_get("maxclients") == {"maxclients": "10000"}
assert any(c["name"] == "matrix" for c in client.client_list())
assert client.command_count() == len(client.command())
ok("error")

print("restart", flush=True)
sys.stdin.readline()
assert again(lambda: client.get(codes[2])) == target(2)
ok("reconnect")

print("done redis-py", redis.__version__)
