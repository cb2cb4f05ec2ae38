// Holds the model by which modec judges Cursor's artifacts against Cursor's own
// engine, @cursor/sdk 1.0.32: testdata/decide.json is what the model takes the
// engine to answer (go test ./targets/cursor/model -run TestReplay -update writes it),
// and here the engine answers. MODEC_OUT is a build of the showcase project,
// MODEC_BIN the binary. MODEC_QUICK=1 asks the hooks about a part of the payloads,
// MODEC_RECORD=1 writes testdata/record.json.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agent, artifacts, digest, Record, recording, Tap } from '../../internal/replay/record.mjs';
import { hooks, permissions, takesHooks } from './engine.mjs';

const { MODEC_OUT: acme, MODEC_BIN: modec } = process.env;
const replay = JSON.parse(readFileSync(new URL('testdata/decide.json', import.meta.url), 'utf8'));
const json = (...p) => JSON.parse(readFileSync(join(...p), 'utf8'));
const every = process.env.MODEC_QUICK === '1' && !recording ? 16 : 1;

// The last of a row is what the model says.
const asked = (rows) => rows.map((row) => row.slice(0, -1));
const record = new Record({
  agent: agent(dirname(fileURLToPath(import.meta.url)), '@cursor/sdk'),
  actions: digest({
    profiles: replay.profiles.map(({ dir, ...lists }) => ({ dir, ...Object.fromEntries(Object.entries(lists).map(([name, rows]) => [name, asked(rows)])) })),
    matches: replay.matches.map(({ token, against }) => ({ token, against })),
    files: replay.files.map(({ text }) => text),
  }),
  scenario: '',
  artifacts: artifacts(acme, ['.cursor/', 'session:cursor/']),
});
after(() => recording && record.write(fileURLToPath(new URL('testdata/record.json', import.meta.url))));

// differ collects what the engine answers otherwise, so that one run shows all, and
// records what it answers.
function differ() {
  const list = [], sessions = {};
  let asked = 0;
  return {
    check(session, got, want, ...what) {
      asked++;
      (sessions[session] ??= []).push(String(got));
      if (got !== want) list.push(`${session} ${what.map((w) => JSON.stringify(w)).join(' ')}: the engine says ${got}, the model ${want}`);
    },
    end(least, calls = {}) {
      for (const [name, became] of Object.entries(sessions)) record.session(name, became, calls[name]);
      assert.deepEqual(list, []);
      assert.ok(asked >= least, `asked ${asked} times`);
    },
  };
}

test('the tokens of every profile', async () => {
  const d = differ();
  for (const p of replay.profiles) {
    const engine = permissions(json(acme, p.dir, 'cli.json').permissions);
    for (const [server, tool, want] of p.mcp) d.check(`${p.dir} mcp`, await engine.mcp(server, tool), want, server, tool);
    for (const [line, want] of p.commands) d.check(`${p.dir} commands`, engine.command(line), want, line);
    for (const [keyword, name] of [['Read', 'reads'], ['Write', 'writes']]) {
      for (const [path, want] of p[name]) d.check(`${p.dir} ${name}`, (await engine.denies(keyword, path)) ? 'deny' : 'allow', want, path);
    }
    // A denied host is asked about: the engine only leaves it out of the allowlist.
    for (const [host, want] of p.hosts) d.check(`${p.dir} hosts`, engine.host(host).replace('deny', 'ask'), want, host);
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
    d.check('matches', got, matches, token, against);
  }
  d.end(60);
});

test('which hooks.json the engine takes', () => {
  const d = differ();
  for (const { text, taken } of replay.files) d.check('files', takesHooks(text), taken, text);
  d.end(60);
});

test('the hooks, payload by payload', async () => {
  const d = differ();
  const calls = {};
  const here = (text) => JSON.parse(JSON.stringify(text).replaceAll(replay.root, acme));
  for (const p of replay.profiles) {
    const tap = recording && new Tap(mkdtempSync(join(tmpdir(), 'modec-tap-')), modec);
    const ask = hooks(json(acme, p.dir, 'hooks.json'), acme, `${tap ? tap.folder : dirname(modec)}:${process.env.PATH}`, 'stdin');
    const rows = p.hooks.filter((_, i) => i % every === 0);
    for (let i = 0; i < rows.length; i += 8) {
      const part = rows.slice(i, i + 8);
      const got = await Promise.all(part.map(([event, payload], j) => ask(event, { ...here(payload), generation_id: `${i + j}` })));
      part.forEach(([event, payload, want], j) => d.check(`${p.dir} hooks`, got[j], want, event, payload));
    }
    if (tap) calls[`${p.dir} hooks`] = hooked(tap);
  }
  d.end(400 / every, calls);
});

// hooked returns what the engine asked the hook, in the payloads' order.
function hooked(tap) {
  return tap.calls({ ROOT: acme, PARENT: dirname(acme), ABOVE: dirname(dirname(acme)) })
    .sort((a, b) => a.payload.generation_id - b.payload.generation_id)
    .map((c) => ({ ...c, payload: { ...c.payload, generation_id: 'g', conversation_id: 'c', session_id: 'c' } }));
}
