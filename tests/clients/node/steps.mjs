// What the programs of this folder share.
import { strict as assert } from 'node:assert';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';

export const [host, port] = [process.argv[2], Number(process.argv[3])];
export const target = (n) => `https://example.com/node/${n}`;
export const ok = (step) => console.log(`ok ${step}`);

export const version = (name) => {
  const require = createRequire(import.meta.url);
  return require(`${name}/package.json`).version;
};

// fails checks that a call ends with an error that begins with word.
export const fails = (call, word) => assert.rejects(call, (e) => e.message.startsWith(word));

// restart asks for a new server, and returns when it is there.
export async function restart() {
  const lines = createInterface({ input: process.stdin });
  console.log('restart');
  for await (const _ of lines) break;
  lines.close();
}

// again calls fn until it succeeds, for 20 seconds.
export async function again(fn) {
  for (const end = Date.now() + 20_000; ;) {
    try {
      return await fn();
    } catch (e) {
      if (Date.now() > end) throw e;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

export { assert };
