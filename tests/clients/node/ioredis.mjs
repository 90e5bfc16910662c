// ioredis.
import { Redis } from 'ioredis';
import { assert, again, fails, host, ok, port, restart, target, version } from './steps.mjs';

const connect = () => new Promise((done, failed) => {
  const client = new Redis({ host, port, connectionName: 'matrix' });
  client.on('error', failed).once('ready', () => done(client)); // ready: it has looked at INFO
});

const client = await connect();
assert.equal(await client.ping(), 'PONG');
assert.equal(await client.client('GETNAME'), 'matrix');
ok('connect');

const code = await client.call('SHORTEN', target('one'));
assert.equal(await client.call('SHORTEN', target('one')), code);
ok('shorten');
assert.equal(await client.call('RESOLVE', code), target('one'));
assert.equal(await client.call('RESOLVE', 'no-such-code'), null);
ok('resolve');
assert.equal(await client.get(code), target('one'));
assert.equal(await client.get('no-such-code'), null);
ok('get');

const pipeline = client.pipeline();
for (let i = 0; i < 1000; i++) pipeline.call('SHORTEN', target(i));
const codes = (await pipeline.exec()).map(([err, reply]) => { assert.equal(err, null); return reply; });
assert.equal(new Set(codes).size, 1000);
assert.equal(await client.get(codes[999]), target(999));
ok('pipeline');

assert.deepEqual(await client.multi().set('ioredis-multi', target('m')).get('ioredis-multi').del('ioredis-multi').exec(), [[null, 'OK'], [null, target('m')], [null, 1]]);
ok('multi');

const seen = new Set();
for await (const keys of client.scanStream({ count: 1000 })) {
  for (const key of keys) seen.add(key);
}
assert.ok(seen.size >= 10_000 && seen.has(code), `SCAN gave ${seen.size}`);
ok('scan');

const subscriber = await connect();
await subscriber.subscribe(`link:${code}`);
const heard = new Promise((done) => subscriber.on('message', (_, message) => done(message)));
await client.call('BAN', code);
assert.equal(JSON.parse(await heard).event, 'banned');
assert.equal(await client.get(code), null);
await fails(client.call('RESOLVE', code), 'BANNED');
ok('ban');

await fails(client.call('SHORTEN', 'ftp://example.com/'), 'BADURL bad_scheme');
assert.equal(await client.ping(), 'PONG');
ok('error');

await restart();
assert.equal(await again(() => client.get(codes[2])), target(2));
const once = new Promise((done) => subscriber.on('message', (_, message) => done(message)));
await again(async () => assert.equal(await client.publish(`link:${code}`, 'still there'), 1)); // it subscribes again by itself
assert.equal(await once, 'still there');
ok('reconnect');

client.disconnect();
subscriber.disconnect();
console.log(`done ioredis ${version('ioredis')}`);
process.exit(0);
