// Asks the real Claude Code about every call of testdata/decide.json, in each
// session that the showcase project describes: it must decide what the decider
// of `modec verify` says, and with its hooks never more than the source.
// testdata/scenario.json is what else a session finds. MODEC_QUICK=1 asks about
// one session only, MODEC_RECORD=1 writes testdata/record.json.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { close, listen, place, turn } from './session.mjs';
import { agent, artifacts, digest, Record, recording, Tap } from '../../internal/replay/record.mjs';

const { MODEC_OUT: acme, MODEC_BIN: modec } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const testdata = (name) => JSON.parse(readFileSync(join(here, 'testdata', name), 'utf8'));
const { calls, subjects } = testdata('decide.json');
const scenario = testdata('scenario.json');
const quick = process.env.MODEC_QUICK === '1' && !recording;
const record = new Record({
  agent: agent(here, '@anthropic-ai/claude-code'),
  actions: digest({ calls, subjects: subjects.map(({ role, agent, servers, flags }) => ({ role, agent, servers, flags })) }),
  scenario: digest(scenario),
  artifacts: artifacts(acme, ['.claude/', '.mcp.json', 'session:claude/']),
});

before(listen);

after(() => {
  close();
  if (recording) record.write(join(here, 'testdata/record.json'));
});

// A role with settings of its own is started with them and without the project's, as modec args has it.
const own = (role) => existsSync(join(acme, `session:claude/${role}.settings.json`));

// decide runs one session in a project of its own and returns a letter for each call.
async function decide(name, subject, args, { hooks = true } = {}) {
  const at = place(scenario.trusted), { root, bin, home } = at;
  cpSync(acme, root, { recursive: true });
  for (const [name, text] of Object.entries(scenario.files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const tap = recording && new Tap(bin, modec);
  if (!tap) symlinkSync(modec, join(bin, 'modec'));
  const profile = join(root, `session:claude/${subject.role}.settings.json`);
  if (existsSync(profile) && !hooks) {
    const settings = JSON.parse(readFileSync(profile, 'utf8'));
    settings.disableAllHooks = true;
    writeFileSync(profile, JSON.stringify(settings));
  } else if (!hooks) {
    writeFileSync(join(root, '.claude/settings.local.json'), '{"disableAllHooks": true}');
  }
  const letters = await turn(at, calls, subject.servers, args);
  if (tap) record.session(name, letters.map((l) => became[l]), hooked(tap, root, home));
  return letters;
}

const became = { a: 'ran', k: 'asked', d: 'refused', c: 'left to a classifier' };

// hooked returns what the agent asked the hook about, in the calls' order, without
// the names that differ from run to run.
function hooked(tap, root, home) {
  const order = ({ payload, command }) => Number(payload.tool_use_id.slice('toolu_'.length)) * 2 + (command.includes('--may-allow') ? 0 : 1);
  return tap.calls({ ROOT: root, HOME: home, PARENT: dirname(root) })
    .map((c) => ({ ...c, payload: { ...c.payload, session_id: 'SESSION', prompt_id: 'PROMPT', transcript_path: 'TRANSCRIPT' } }))
    .sort((a, b) => order(a) - order(b));
}

const table = (letters) => Object.fromEntries(calls.map((c, i) => [`${i} ${c.action}`, letters[i]]));

function narrowerOrEqual(got, source, said) {
  // What rules alone cannot refuse is asked about, and what the source leaves to the agent is the agent's.
  calls.forEach((c, i) => assert.ok('dka-'.indexOf(got[i]) <= Math.max(got[i] === 'k' && said[i] === 'k' ? 1 : 0, 'dka-'.indexOf(source[i])), `${c.action}: the agent decides ${got[i]}, the source ${source[i]}`));
}

test('the artifacts are there', () => {
  for (const s of subjects) assert.ok(existsSync(join(acme, s.agent ? `.claude/agents/${s.agent}.md` : own(s.role) ? `session:claude/${s.role}.settings.json` : '.claude/settings.json')));
});

test('the agent decides as the decider says', { concurrency: 3 }, async (t) => {
  const all = [];
  const ask = (name, check, ...session) => all.push(t.test(name, async () => check(await decide(name, ...session))));
  for (const s of quick ? subjects.filter((s) => s.role === 'developer') : subjects) {
    const start = s.agent ? [`--agent=${s.agent}`] : !own(s.role) ? [] : ['--setting-sources=user', `--settings=ROOT/session:claude/${s.role}.settings.json`];
    const withHooks = (got) => {
      assert.deepEqual(table(got), table(s.withHooks));
      narrowerOrEqual(got, s.source, s.withHooks);
    };
    const withoutHooks = (got) => assert.deepEqual(table(got), table(s.withoutHooks));
    // Plan without disableAutoMode asks a classifier, which might approve. Agent's
    // deny rules come after it.
    const byFlags = (got) => assert.deepEqual(table(got.map((l, i) => (l === 'c' && s.byFlags[i] !== 'k' ? s.byFlags[i] : l))), table(s.byFlags));
    ask(`${s.role ?? s.agent} with its hooks`, withHooks, s, start);
    if (quick) break;
    ask(`${s.role ?? s.agent} without hooks`, withoutHooks, s, start, { hooks: false });
    if (s.flags) ask(`${s.role} by flags only`, byFlags, s, ['--setting-sources=user', ...s.flags, '--']);
  }
  await Promise.all(all);
});
