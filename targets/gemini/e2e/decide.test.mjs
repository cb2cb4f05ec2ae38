// Holds the model by which modec judges Gemini CLI's artifacts against Gemini CLI's own engine:
// testdata/decide.json is what the model takes the engine to answer (go test ./targets/gemini/model -run
// TestReplay -update writes it), and here the engine answers. MODEC_BIN is the binary. MODEC_QUICK=1 asks
// about a part of the calls, MODEC_RECORD=1 writes testdata/record.json.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agent, artifacts, built, digest, Record, recording } from '../../internal/replay/record.mjs';
import { agents, decide, session } from './engine.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const asked = JSON.parse(readFileSync(join(here, 'testdata/decide.json'), 'utf8'));
const every = process.env.MODEC_QUICK === '1' && !recording ? 16 : 1;
const work = mkdtempSync(join(tmpdir(), 'modec-gemini-'));

const names = [...new Set(asked.Sessions.map((s) => s.Project))];
const builds = Object.fromEntries(names.map((n) => [n, built(work, n)]));

const record = new Record({
  agent: agent(here, '@google/gemini-cli-core'),
  actions: digest(asked.Sessions.map((s) => ({ project: s.Project, policies: s.Policies, subagent: s.Subagent, calls: s.Calls.map((c) => c.slice(0, 3)) }))),
  scenario: '',
  artifacts: Object.fromEntries(names.flatMap((n) => Object.entries(artifacts(builds[n], ['.gemini/', 'session:gemini/'])).map(([f, sum]) => [`${n}/${f}`, sum]))),
});
after(() => recording && record.write(join(here, 'testdata/record.json')));

test('the engine loads every policy whole', async () => {
  for (const n of names) {
    const folder = join(builds[n], 'session:gemini');
    for (const file of readdirSync(folder).filter((f) => f.endsWith('.toml'))) {
      const text = readFileSync(join(folder, file), 'utf8');
      const { errors, rules } = await session([join(folder, file)], work);
      assert.deepEqual(errors, [], file);
      const written = [...text.matchAll(/^toolName = (.*)$/gm)].reduce((sum, [, tools]) => sum + (tools.match(/"[^"]*"/g) ?? []).length, 0);
      assert.equal(rules, written, `${file}: the engine has ${rules} of ${written} rules`);
    }
  }
});

test('every agent is loaded, with its tools', async () => {
  for (const n of names) {
    const folder = join(builds[n], '.gemini/agents');
    const { agents: loaded, errors } = await agents(folder);
    assert.deepEqual(errors, []);
    assert.deepEqual(loaded.map((a) => `${a.name}.md`).sort(), readdirSync(folder).sort());
    for (const a of loaded) {
      const limited = /^tools:/m.test(readFileSync(join(folder, `${a.name}.md`), 'utf8'));
      assert.equal(a.toolConfig !== undefined, limited, a.name);
      assert.ok(a.promptConfig.systemPrompt.length > 0);
    }
  }
});

test('what the engine decides', async () => {
  const differ = [];
  let n = 0;
  for (const s of asked.Sessions) {
    const { engine } = await session(s.Policies.map((file) => join(builds[s.Project], file)), work);
    const became = [];
    for (const [i, [tool, server, args, want]] of s.Calls.entries()) {
      if (i % every !== 0) continue;
      n++;
      const got = await decide(engine, tool, server, args, s.Subagent);
      became.push(got);
      if (got !== want) differ.push(`${s.Project} ${s.Policies.at(0)} ${s.Subagent} ${tool} ${JSON.stringify(args)}: the engine says ${got}, the model ${want}`);
    }
    record.session(`${s.Project} ${s.Policies.at(0)} ${s.Subagent}`, became);
  }
  assert.deepEqual(differ, []);
  assert.ok(n > 3000 / every, `asked ${n} times`);
});
