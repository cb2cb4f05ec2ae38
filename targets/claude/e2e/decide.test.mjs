// Asks the real Claude Code about every call of testdata/decide.json, in each
// session that the showcase project describes: it must decide what the decider
// of `modec verify` says, and with its hooks never more than the source. All
// calls of a session are one turn. Questions go to a permission prompt tool that
// refuses them by a word of its own, so that an ask is told from a refusal. No
// login, no network, and the servers are stand-ins that offer the same tools.
// testdata/scenario.json is what else a session finds. MODEC_QUICK=1 asks about
// one session only, MODEC_RECORD=1 writes testdata/record.json.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agent, artifacts, digest, Record, recording, sha256, Tap } from '../../internal/replay/record.mjs';

const { MODEC_OUT: acme, MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const claude = join(here, 'node_modules/.bin/claude');
const testdata = (name) => JSON.parse(readFileSync(join(here, 'testdata', name), 'utf8'));
const { calls, subjects } = testdata('decide.json');
const scenario = testdata('scenario.json');
const quick = process.env.MODEC_QUICK === '1' && !recording;
const record = new Record({
  agent: agent(here, '@anthropic-ai/claude-code'),
  actions: digest({ calls, subjects: subjects.map(({ role, agent, servers, flags }) => ({ role, agent, servers, flags })) }),
  scenario: digest(scenario),
  artifacts: artifacts(acme, ['.claude/', '.mcp.json', '.modec/']),
});
const scratch = mkdtempSync(join(tmpdir(), 'modec-decide-'));

// stub is an MCP server over standard input and output. The tool "ask" is the
// permission prompt.
const stub = join(scratch, 'stub.mjs');
const asked = 'put to a person';
writeFileSync(stub, `
import { createInterface } from 'node:readline';
const tools = process.argv.slice(2);
for await (const line of createInterface({ input: process.stdin })) {
  const m = JSON.parse(line);
  if (m.id === undefined) continue;
  const result = {
    initialize: () => ({ protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'stub', version: '1' } }),
    'tools/list': () => ({ tools: tools.map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} }, annotations: { readOnlyHint: true } })) }),
    'tools/call': () => ({ content: [{ type: 'text', text: m.params.name === 'ask' ? '{"behavior":"deny","message":"${asked}"}' : 'done' }] }),
  }[m.method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: result ? result() : {} }));
}
`);

let server, port;
const turns = new Map(); // the project's folder of a session that has not had its calls

before(async () => {
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (d) => (body += d));
    req.on('end', () => {
      const [, session] = req.url.split('/');
      if (!req.url.includes('/v1/messages') || req.url.includes('count_tokens')) {
        res.setHeader('content-type', 'application/json');
        return res.end('{"input_tokens":1}');
      }
      const data = JSON.parse(body);
      const root = (data.tools ?? []).length > 0 ? turns.get(session) : undefined;
      turns.delete(root === undefined ? undefined : session);
      const content = root !== undefined
        ? calls.map((c, i) => ({ type: 'tool_use', id: `toolu_${i}`, name: c.name, input: JSON.parse(JSON.stringify(c.input).replaceAll('ROOT', root)) }))
        : [{ type: 'text', text: 'done' }];
      res.setHeader('content-type', 'text/event-stream');
      const send = (type, o) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...o })}\n\n`);
      send('message_start', { message: { id: 'msg', type: 'message', role: 'assistant', model: data.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } });
      content.forEach((c, index) => {
        const tool = c.type === 'tool_use';
        send('content_block_start', { index, content_block: tool ? { type: 'tool_use', id: c.id, name: c.name, input: {} } : { type: 'text', text: '' } });
        send('content_block_delta', { index, delta: tool ? { type: 'input_json_delta', partial_json: JSON.stringify(c.input) } : { type: 'text_delta', text: c.text } });
        send('content_block_stop', { index });
      });
      send('message_delta', { delta: { stop_reason: root !== undefined ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } });
      send('message_stop', {});
      res.end();
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  port = server.address().port;
});

after(() => {
  server.close();
  if (recording) record.write(join(here, 'testdata/record.json'));
});

const baseline = 'developer';
// A role with settings of its own is started with them and without the project's, as modec args has it.
const own = (role) => existsSync(join(acme, `.claude/modec/${role}.settings.json`));
let sessions = 0;

// decide runs one session in a project of its own and returns a letter for each
// call: a(llowed), k (asked), d(enied), c for a classifier that is not here.
async function decide(name, subject, args, { hooks = true, installed = false } = {}) {
  const session = `s${sessions++}`;
  const root = join(scratch, session, 'project');
  cpSync(installed ? fixture : acme, root, { recursive: true });
  for (const [name, text] of Object.entries(scenario.files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const bin = join(scratch, session, 'bin'), home = join(scratch, session, 'home');
  mkdirSync(bin);
  mkdirSync(home);
  // The hooks of a subagent of the project run where a person has trusted its folder.
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ projects: { [realpathSync(root)]: { hasTrustDialogAccepted: scenario.trusted } } }));
  const tap = recording && new Tap(bin, modec);
  if (!tap) symlinkSync(modec, join(bin, 'modec'));
  const mcpServers = { prompter: { command: process.execPath, args: [stub, 'ask'] } };
  for (const s of subject.servers) {
    mcpServers[s] = { command: process.execPath, args: [stub, ...calls.flatMap((c) => (c.name.startsWith(`mcp__${s}__`) ? [c.name.slice(`mcp__${s}__`.length)] : []))] };
  }
  if (installed) install(subject.role, root, home);
  const profile = join(root, `.claude/modec/${subject.role}.settings.json`);
  if (existsSync(profile) && !hooks) {
    const settings = JSON.parse(readFileSync(profile, 'utf8'));
    settings.disableAllHooks = true;
    writeFileSync(profile, JSON.stringify(settings));
  } else if (!hooks) {
    writeFileSync(join(root, '.claude/settings.local.json'), '{"disableAllHooks": true}');
  }
  turns.set(session, root);
  const child = spawn(claude, ['-p', 'hi', '--output-format=stream-json', '--verbose', '--strict-mcp-config', `--mcp-config=${JSON.stringify({ mcpServers })}`, '--permission-prompt-tool=mcp__prompter__ask', ...args.map((a) => a.replaceAll('ROOT', root))], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${bin}:/usr/bin:/bin`, HOME: home, ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}/${session}`, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
  });
  let out = '', err = '';
  child.stdout.on('data', (d) => (out += d));
  child.stderr.on('data', (d) => (err += d));
  await new Promise((done) => child.on('close', done));
  const results = {};
  for (const line of out.split('\n').filter(Boolean)) {
    const m = JSON.parse(line);
    for (const c of m.type === 'user' && Array.isArray(m.message.content) ? m.message.content : []) {
      if (c.type === 'tool_result') results[c.tool_use_id] ??= [c.is_error === true, JSON.stringify(c.content)];
    }
  }
  const letters = calls.map((_, i) => letter(results[`toolu_${i}`], err + out));
  if (tap) record.session(name, letters.map((l) => became[l]), hooked(tap, root, home));
  return letters;
}

// install puts a role into a home folder, whose settings are an artifact too.
function install(role, root, home) {
  execFileSync(modec, ['-q', 'build', '-C', root], { stdio: 'pipe' });
  execFileSync(modec, ['-q', 'install', role, '--accept', '-C', root, '--home', home, '--target', 'claude'], { stdio: 'pipe' });
  const settings = readFileSync(join(home, '.claude/settings.json'), 'utf8');
  record.key.artifacts['HOME/.claude/settings.json'] = sha256(settings.replaceAll(realpathSync(root), 'ROOT').replaceAll(root, 'ROOT')
    .replaceAll(realpathSync(home), 'HOME').replaceAll(home, 'HOME'));
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

function letter(result, log) {
  assert.ok(result, `the agent gave no result: ${log.slice(0, 2000)}`);
  const [failed, text] = result;
  if (failed && text.includes('Auto mode is unavailable')) return 'c';
  if (text.includes(asked)) return 'k';
  if (failed && /has been denied|denied by your permission|No such tool available|modec: |covered by a Read deny|blocked by a deny rule|denied access to domain|not run/.test(text)) return 'd';
  return 'a'; // it ran, whatever came of it
}

const table = (letters) => Object.fromEntries(calls.map((c, i) => [`${i} ${c.action}`, letters[i]]));

function narrowerOrEqual(got, source, said) {
  // What rules alone cannot refuse is asked about, and what the source leaves to the agent is the agent's.
  calls.forEach((c, i) => assert.ok('dka-'.indexOf(got[i]) <= Math.max(got[i] === 'k' && said[i] === 'k' ? 1 : 0, 'dka-'.indexOf(source[i])), `${c.action}: the agent decides ${got[i]}, the source ${source[i]}`));
}

test('the artifacts are there', () => {
  for (const s of subjects) assert.ok(existsSync(join(acme, s.agent ? `.claude/agents/${s.agent}.md` : own(s.role) ? `.claude/modec/${s.role}.settings.json` : '.claude/settings.json')));
});

test('the agent decides as the decider says', { concurrency: 3 }, async (t) => {
  const all = [];
  const ask = (name, check, ...session) => all.push(t.test(name, async () => check(await decide(name, ...session))));
  for (const s of quick ? subjects.filter((s) => s.role === 'developer') : subjects) {
    const start = s.agent ? [`--agent=${s.agent}`] : !own(s.role) ? [] : ['--setting-sources=user', `--settings=ROOT/.claude/modec/${s.role}.settings.json`];
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
    // An installed role has a hook: what the source says holds, and the rest is as without it.
    const said = [...s.source].map((l, i) => (l === '-' ? s.withHooks[i] : l)).join('');
    if (s.role === baseline) ask(`${s.role} installed`, (got) => assert.deepEqual(table(got), table(said)), s, [], { installed: true });
    ask(`${s.role ?? s.agent} without hooks`, withoutHooks, s, start, { hooks: false });
    if (s.flags) ask(`${s.role} by flags only`, byFlags, s, ['--setting-sources=user', ...s.flags, '--']);
  }
  await Promise.all(all);
});
