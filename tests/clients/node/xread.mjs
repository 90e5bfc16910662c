// ioredis, following the stream of clicks until it has seen as many as the third argument says: no step of the table in README.md, but what
// clicks_test.go runs.
import { Redis } from 'ioredis';
import { assert, host, port } from './steps.mjs';

const wanted = Number(process.argv[4]);
const client = new Redis({ host, port });
const [seen, ids] = [[], new Set()];
let last = '0';
while (seen.length < wanted) {
  const streams = await client.xread('COUNT', 7, 'BLOCK', 60_000, 'STREAMS', 'clicks', last);
  assert.equal(streams.length, 1);
  const [key, entries] = streams[0];
  assert.equal(key, 'clicks');
  for (const [id, fields] of entries) {
    const entry = Object.fromEntries(Array.from({ length: fields.length / 2 }, (_, i) => fields.slice(2 * i, 2 * i + 2)));
    assert.ok(!ids.has(id), `${id} came twice`);
    ids.add(id);
    seen.push(entry.target);
    assert.equal(entry.code, 'a');
    assert.equal(entry.browser, 'Firefox');
    assert.equal(entry.bot, '0');
    last = id;
  }
}
assert.equal(await client.xlen('clicks'), wanted);
assert.deepEqual((await client.xrevrange('clicks', '+', '-', 'COUNT', 1)).map(([id]) => id), [last]);
assert.deepEqual((await client.xrange('clicks:a', last, '+')).map(([id]) => id), [last]);
const info = await client.xinfo('STREAM', 'clicks');
assert.equal(info[info.indexOf('last-generated-id') + 1], last);
client.disconnect();
console.log(JSON.stringify(seen));
