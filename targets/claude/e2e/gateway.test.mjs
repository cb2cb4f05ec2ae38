// Puts modec's gateway between the real Claude Code and MCP servers, through the files that a build writes: what the
// source permits arrives at the server, what it asks about goes to a person first, and what it denies is unknown.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agrees, asked, close, listen, place, prompter, session, stub } from './session.mjs';

const modec = process.env.MODEC_BIN;

before(listen);
after(close);

// project builds one with a shop behind the gateway, and accepts what that starts.
function project(toml = '') {
  const at = place(true);
  symlinkSync(modec, join(at.bin, 'modec'));
  at.calls = join(at.home, 'calls');
  const server = (...tools) => JSON.stringify({
    command: process.execPath, args: [stub, ...tools, 'tomorrow'], env: { CALLS: at.calls }, tools: Object.fromEntries(tools.map((t) => [t, {}])),
  });
  mkdirSync(join(at.root, 'modec'));
  writeFileSync(join(at.root, 'modec.toml'), `${toml}\n[targets.claude]\n[gateway]\nemit = true\n[audit]\nfile = ".modec/audit.jsonl"\n`);
  writeFileSync(join(at.root, 'modec/a.cue'), `package modec
servers: {shop: ${server('list', 'sell', 'drop')}, safe: {${server('open').slice(1, -1)}, defaultEnabled: false}}
modes: look: {name: "Look", description: "Looks", roleDefinition: "You look.", can: mcp: shop: allow: ["list"]}
roles: {
	clerk: can: mcp: {shop: {allow: ["list"], ask: ["sell"], default: "deny"}}
	keeper: can: mcp: {shop: "allow", safe: "allow"}
}
`);
  at.run = (...args) => execFileSync(modec, ['-C', at.root, ...args], { encoding: 'utf8', input: '', env: { PATH: '/usr/bin:/bin', HOME: at.home } });
  at.run('-q', 'build');
  for (const role of ['clerk', 'keeper']) at.run('gateway', '--agent-asks', '--role', role, '--accept');
  return at;
}

const called = (at) => (existsSync(at.calls) ? readFileSync(at.calls, 'utf8').split('\n').filter(Boolean) : []);
const events = (at) => JSON.parse(at.run('audit', '--json')).events;
const tool = (name) => ({ name: `mcp__gateway__${name}`, input: { of: 'tea' } });
const shop = ['shop_list', 'shop_sell', 'shop_drop', 'shop_tomorrow', 'safe_open', 'nothing'].map(tool);
const unknown = /No such tool available/;

// told checks the result of each call: 'done', or what the text of an error has to say.
function told({ results, log }, ...want) {
  want.forEach((w, i) => {
    assert.ok(results[i], `the agent gave no result: ${log.slice(0, 2000)}`);
    const [failed, text] = results[i];
    assert.equal(failed, w !== 'done', `${i}: ${text}`);
    assert.match(text, w === 'done' ? /"done"/ : w, `${i}`);
  });
}

const started = (at, subject) => at.run('args', subject, '--accept', '--null').split('\0').slice(0, -1);

test('a role calls what it may, is asked about the rest, and knows of nothing else', async () => {
  const at = project();
  told(await session(at, shop, [...started(at, 'clerk'), ...prompter()]), 'done', new RegExp(asked), unknown, unknown, unknown, unknown);
  assert.deepEqual(called(at), ['list'], 'what is asked about and refused is not called');
  told(await session(at, shop.slice(0, 3), [...started(at, 'clerk'), ...prompter({}, agrees)]), 'done', 'done', unknown);
  assert.deepEqual(called(at), ['list', 'list', 'sell']);
});

test("another role's own gateway serves another list", async () => {
  const at = project();
  told(await session(at, shop, [...started(at, 'keeper'), ...prompter()]), 'done', 'done', 'done', unknown, 'done', unknown);
  assert.deepEqual(called(at).sort(), ['drop', 'list', 'open', 'sell']);
});

// What the user's own settings start is there for a role that may use it, and for no other.
test('an external server is beside the gateway', async () => {
  const at = project();
  const notes = { command: process.execPath, args: [stub, 'read', 'wipe'], env: { CALLS: at.calls } };
  const own = join(at.home, '.claude.json');
  writeFileSync(own, JSON.stringify({ ...JSON.parse(readFileSync(own, 'utf8')), mcpServers: { notes, gateway: notes } }));
  writeFileSync(join(at.root, 'modec/b.cue'), `package modec
servers: notes: {type: "external", tools: {read: {}, wipe: {}}}
roles: {
	writer: can: mcp: {shop: {allow: ["list"], default: "deny"}, notes: {allow: ["read"], default: "deny"}}
	other: can: mcp: {shop: {allow: ["list"], default: "deny"}, notes: "deny"}
}
`);
  at.run('-q', 'build');
  for (const role of ['writer', 'other']) at.run('gateway', '--agent-asks', '--role', role, '--accept');
  const calls = [tool('shop_list'), { name: 'mcp__notes__read', input: {} }, { name: 'mcp__notes__wipe', input: {} }, tool('read')];
  told(await session(at, calls, [...started(at, 'writer'), ...prompter()]), 'done', 'done', unknown, unknown);
  told(await session(at, calls, [...started(at, 'other'), ...prompter()]), 'done', unknown, unknown, unknown);
  assert.deepEqual(called(at).sort(), ['list', 'list', 'read']);
});

test("the project's own list is the baseline's gateway", async () => {
  const at = project('baseline = "clerk"');
  told(await session(at, shop, prompter()), 'done', new RegExp(asked), unknown, unknown, unknown, unknown);
  assert.deepEqual(called(at), ['list']);
});

test('without a baseline the project has what any subject may use, and a mode its own part of it', async () => {
  const at = project();
  told(await session(at, shop, [...started(at, 'look'), ...prompter({}, agrees)]), 'done', unknown, unknown, unknown, unknown, unknown);
  assert.deepEqual(called(at), ['list']);
});

test('a project that nobody has accepted starts no server', async () => {
  const at = project('baseline = "clerk"');
  writeFileSync(join(at.root, 'modec/a.cue'), readFileSync(join(at.root, 'modec/a.cue'), 'utf8').replaceAll('tomorrow', 'today'));
  at.run('-q', 'build');
  told(await session(at, shop.slice(0, 1), prompter()), unknown);
  assert.deepEqual(called(at), []);
});

// By hand the gateway may ask by itself: Claude Code shows its question, and its hooks may answer.
for (const [action, ...want] of [
  ['accept', 'done', 'done', unknown], ['decline', 'done', /The person declined/, unknown], ['', 'done', /dismissed the question without an answer/, unknown],
]) {
  test(`a gateway that asks by itself: ${action || 'nobody answers'}`, async () => {
    const at = project();
    at.run('gateway', '--role', 'clerk', '--accept');
    const seen = join(at.home, 'seen');
    const answer = JSON.stringify({ hookSpecificOutput: { hookEventName: 'Elicitation', action, content: {} } });
    const hooks = action ? { Elicitation: [{ hooks: [{ type: 'command', command: `cat > ${seen}; echo '${answer}'` }] }] } : {};
    const servers = { gateway: { command: 'modec', args: ['gateway', '--role', 'clerk'] } };
    const settings = JSON.stringify({ permissions: { allow: ['mcp__gateway'] }, hooks });
    told(await session(at, shop.slice(0, 3), ['--setting-sources=user', '--strict-mcp-config', `--settings=${settings}`, ...prompter(servers)]), ...want);
    assert.deepEqual(called(at), action === 'accept' ? ['list', 'sell'] : ['list']);
    if (action) assert.match(JSON.parse(readFileSync(seen, 'utf8')).message, /^May role clerk call the tool sell of server shop\? With these arguments:\s+\{\s+"of": "tea"\s+\}$/);
    const sold = events(at).filter((e) => e.tool === 'sell');
    assert.ok(sold.length > 0 && sold.every((e) => e.decision === 'ask' && e.role === 'clerk'), JSON.stringify(sold));
  });
}
