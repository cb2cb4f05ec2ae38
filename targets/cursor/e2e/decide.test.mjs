// Holds the model by which modec judges Cursor's artifacts against Cursor's own
// engine, @cursor/sdk 1.0.32: testdata/decide.json is what the model takes the
// engine to answer (go test ./targets/cursor/model -run TestReplay -update writes it),
// and here the engine answers. MODEC_OUT is a build of the showcase project,
// MODEC_BIN the binary.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { hooks, permissions, takesHooks } from './engine.mjs';

const { MODEC_OUT: acme, MODEC_BIN: modec } = process.env;
const replay = JSON.parse(readFileSync(new URL('testdata/decide.json', import.meta.url), 'utf8'));
const json = (...p) => JSON.parse(readFileSync(join(...p), 'utf8'));

// differ collects what the engine answers otherwise, so that one run shows all.
function differ() {
  const list = [];
  let asked = 0;
  return {
    check(got, want, ...what) {
      asked++;
      if (got !== want) list.push(`${what.map((w) => JSON.stringify(w)).join(' ')}: the engine says ${got}, the model ${want}`);
    },
    end(least) {
      assert.deepEqual(list, []);
      assert.ok(asked >= least, `asked ${asked} times`);
    },
  };
}

test('the tokens of every profile', async () => {
  const d = differ();
  for (const p of replay.profiles) {
    const engine = permissions(json(acme, p.dir, 'cli.json').permissions);
    for (const [server, tool, want] of p.mcp) d.check(await engine.mcp(server, tool), want, p.dir, server, tool);
    for (const [line, want] of p.commands) d.check(engine.command(line), want, p.dir, line);
    for (const [keyword, list] of [['Read', p.reads], ['Write', p.writes]]) {
      for (const [path, want] of list) d.check((await engine.denies(keyword, path)) ? 'deny' : 'allow', want, p.dir, keyword, path);
    }
    // A denied host is asked about: the engine only leaves it out of the allowlist.
    for (const [host, want] of p.hosts) d.check(engine.host(host).replace('deny', 'ask'), want, p.dir, host);
  }
  d.end(700);
});

test('tokens that no build writes', async () => {
  const d = differ();
  for (const { token, against, matches } of replay.matches) {
    const engine = permissions({ allow: [], deny: [token] });
    const keyword = token.match(/^\w+/)[0];
    const got = /^(shell|bash)$/i.test(keyword) ? engine.command(against[0]) === 'deny'
      : keyword === 'Mcp' ? (await engine.mcp(...against)) === 'deny'
      : keyword === 'WebFetch' ? engine.host(against[0]) === 'deny'
      : await engine.denies(keyword, against[0]);
    d.check(got, matches, token, against);
  }
  d.end(60);
});

test('which hooks.json the engine takes', () => {
  const d = differ();
  for (const { text, taken } of replay.files) d.check(takesHooks(text), taken, text);
  d.end(60);
});

test('the hooks, payload by payload', async () => {
  const d = differ();
  const path = `${dirname(modec)}:${process.env.PATH}`;
  const here = (text) => JSON.parse(JSON.stringify(text).replaceAll(replay.root, acme));
  for (const p of replay.profiles) {
    const ask = hooks(json(acme, p.dir, 'hooks.json'), acme, path, 'stdin');
    for (let i = 0; i < p.hooks.length; i += 8) {
      await Promise.all(p.hooks.slice(i, i + 8).map(async ([event, payload, want]) => d.check(await ask(event, here(payload)), want, p.dir, event, payload)));
    }
  }
  d.end(400);
});
