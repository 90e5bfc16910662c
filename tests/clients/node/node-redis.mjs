// node-redis. The third argument is the name of the module: redis, or redis-4 for the old one, which speaks RESP2.
import { assert, again, fails, host, ok, port, restart, target, version } from './steps.mjs';

const name = process.argv[4] ?? 'redis';
const { createClient } = await import(name);
const connect = async (options = {}) => {
  const client = createClient({ socket: { host, port }, name: 'matrix', ...options });
  client.on('error', () => {}); // the connection comes back by itself
  await client.connect();
  return client;
};

const client = await connect();
assert.equal(await client.ping(), 'PONG');
assert.equal(await client.clientGetName(), 'matrix');
ok('connect');

const code = await client.sendCommand(['SHORTEN', target('one')]);
assert.equal(await client.sendCommand(['SHORTEN', target('one')]), code);
ok('shorten');
assert.equal(await client.sendCommand(['RESOLVE', code]), target('one'));
assert.equal(await client.sendCommand(['RESOLVE', 'no-such-code']), null);
ok('resolve');
assert.equal(await client.get(code), target('one'));
assert.equal(await client.get('no-such-code'), null);
ok('get');

const codes = await Promise.all(Array.from({ length: 1000 }, (_, i) => client.sendCommand(['SHORTEN', target(i)])));
assert.equal(new Set(codes).size, 1000);
assert.equal(await client.get(codes[999]), target(999));
ok('pipeline');

assert.deepEqual(await client.multi().set('node-multi', target('m')).get('node-multi').del('node-multi').exec(), ['OK', target('m'), 1]);
ok('multi');

const seen = new Set();
for await (const found of client.scanIterator({ COUNT: 1000 })) {
  for (const key of [found].flat()) seen.add(key);
}
assert.ok(seen.size >= 10_000 && seen.has(code), `SCAN gave ${seen.size}`);
ok('scan');

const subscriber = await connect();
const heard = new Promise((done) => subscriber.subscribe(`link:${code}`, done).then(() => client.sendCommand(['BAN', code])));
assert.equal(JSON.parse(await heard).event, 'banned');
assert.equal(await client.get(code), null);
await fails(client.sendCommand(['RESOLVE', code]), 'BANNED');
ok('ban');

if (name === 'redis') {
  // The cache in the client forgets a link as soon as somebody bans it.
  const cached = await connect({ RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0, evictPolicy: 'LRU' } });
  assert.equal(await cached.get(codes[1]), target(1));
  assert.equal(await cached.get(codes[1]), target(1));
  const calls = async () => Number(/cmdstat_get:calls=(\d+)/.exec(await client.info('commandstats'))[1]);
  const before = await calls();
  assert.equal(await cached.get(codes[1]), target(1));
  assert.equal(await calls(), before, 'the cache asks the server');
  await client.sendCommand(['BAN', codes[1]]);
  await again(async () => assert.equal(await cached.get(codes[1]), null));
  await cached.close();
  ok('cache');
}

await fails(client.sendCommand(['SHORTEN', 'ftp://example.com/']), 'BADURL bad_scheme');
assert.equal(await client.ping(), 'PONG');
ok('error');

await restart();
assert.equal(await again(() => client.get(codes[2])), target(2));
ok('reconnect');

for (const c of [client, subscriber]) await (c.close?.() ?? c.quit()).catch(() => {});
console.log(`done node-redis ${version(name)}`);
process.exit(0);
