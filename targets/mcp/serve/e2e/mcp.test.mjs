// Holds modec serve against the protocol's own conformance suite, the Inspector, both
// generations of the TypeScript SDK and Claude Code. MODEC_BIN is the binary,
// MODEC_FIXTURE the showcase project. The suite and the Inspector need Node 22, which
// is a package here.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HTTPV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HTTPV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

const { MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, 'node_modules');
const node22 = join(modules, '.bin/node');
const run = promisify(execFile);
const temp = (name) => mkdtempSync(join(tmpdir(), `modec-${name}-`));
const args = ['serve', '--no-global', '-C', fixture];

let server, url;

async function serve(more = [], dir = fixture) {
  const child = spawn(modec, ['serve', '--no-global', '-C', dir, '--http', '127.0.0.1:0', ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
  const address = await new Promise((done, fail) => {
    let text = '';
    child.stdout.on('data', (d) => {
      text += d;
      const m = /serving (\S+)/.exec(text);
      if (m) done(m[1]);
    });
    child.on('exit', (code) => fail(new Error(`modec serve ended with ${code}: ${text}`)));
  });
  child.removeAllListeners('exit');
  return [child, address];
}

before(async () => {
  [server, url] = await serve();
});

after(async () => {
  const ended = new Promise((done) => server.on('exit', done));
  server.kill('SIGTERM');
  assert.equal(await ended, 0, 'a server that is asked to ends cleanly');
});

// finish runs a program and returns its exit code and what it wrote.
const finish = (file, list, env = {}) => run(file, list, { env: { ...process.env, HOME: temp('home'), ...env }, maxBuffer: 64 << 20 }).then(({ stdout, stderr }) => [0, stdout + stderr], (e) => [e.code, `${e.stdout}${e.stderr}`]);

const suite = join(modules, '@modelcontextprotocol/conformance/dist/index.js');

for (const revision of ['2025-11-25', '2026-07-28']) {
  test(`the conformance suite of ${revision}`, async () => {
    const expected = join(here, `testdata/expected-failures-${revision}.yml`);
    const [code, log] = await finish(node22, [suite, 'server', '--url', url, '--requirements', revision, '--expected-failures', expected]);
    assert.equal(code, 0, log.slice(-4000));
    assert.match(log, /Baseline check passed/);
    // What may fail names a tool, a prompt or a resource of the suite's own server.
    for (const line of readFileSync(expected, 'utf8').split('\n').filter((l) => l.startsWith('  - '))) {
      assert.match(line, /# (test_\w+|test:\/\/\S+)$/);
    }
    // The scenarios that the help lists are those that pass without a failure or a warning, which are in no baseline.
    const baseline = readFileSync(expected, 'utf8');
    const passed = [...log.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed$/gm)].map((m) => m[1]).filter((name) => !baseline.includes(`"${name}:`));
    const help = readFileSync(join(here, '../../../../cmd/modec/help/serve.md'), 'utf8');
    const row = new RegExp(`^\\| ${revision} \\| (.*) \\|$`, 'm').exec(help)[1];
    assert.deepEqual([...row.matchAll(/`([^`]+)`/g)].map((m) => m[1]), passed.sort());
  });
}

for (const scenario of ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory']) {
  test(`the conformance suite's ${scenario}`, async () => {
    const [code, log] = await finish(node22, [suite, 'server', '--url', url, '--scenario', scenario]);
    assert.equal(code, 0, log.slice(-4000));
    assert.match(log, /, 0 failed, 0 warnings/);
  });
}

const inspector = join(modules, '.bin/mcp-inspector');

for (const [method, ...more] of [
  ['tools/list', '--strict'],
  ['tools/call', '--tool-name', 'validate_tool_use', '--tool-arg', 'mode=code', '--tool-arg', 'tool_name=read_file', '--tool-arg', 'file_path=README.md'],
  ['resources/list'],
  ['resources/templates/list'],
  ['resources/read', '--uri', 'mode://code'],
  ['prompts/list'],
  ['prompts/get', '--prompt-name', 'code'],
  ['skills/list', '--verify', '--require-digests'],
]) {
  test(`the Inspector: ${method}`, async () => {
    for (const era of ['legacy', 'modern']) {
      const [code, log] = await finish(node22, [inspector, '--cli', '--server-url', url, '--transport', 'http', '--protocol-era', era, '--format', 'json', '--method', method, ...more]);
      assert.equal(code, 0, `${era}: ${log.slice(-2000)}`);
    }
    const [code, log] = await finish(node22, [inspector, '--cli', modec, ...args, '--format', 'json', '--method', method, ...more]);
    assert.equal(code, 0, `over pipes: ${log.slice(-2000)}`);
  });
}

// walk goes through the specification's examples: a task in code, a write, the mode
// architect, a write that is refused there, and the end.
async function walk(client) {
  const call = async (name, more) => client.callTool({ name, arguments: more });
  const modes = (await call('list_modes', { source: 'project' })).structuredContent.modes.map((m) => m.slug);
  assert.ok(modes.includes('code') && modes.includes('architect'), modes.join());
  const { session_id, task_id, mode_slug } = (await call('create_task', { mode_slug: 'code', initial_message: 'Write hello.py.' })).structuredContent;
  assert.match(session_id, /^ses_/);
  assert.match(task_id, /^tsk_/);
  assert.equal(mode_slug, 'code');
  const write = { session_id, tool_name: 'write_to_file', file_path: 'hello.py' };
  let answer = await call('validate_tool_use', write);
  assert.equal(answer.isError ?? false, false);
  assert.equal(answer.structuredContent.allowed, true);
  const turn = (await call('switch_mode', { session_id, new_mode_slug: 'architect', reason: 'to plan' })).structuredContent;
  assert.deepEqual([turn.old_mode, turn.new_mode], ['code', 'architect']);
  answer = await call('validate_tool_use', write);
  assert.equal(answer.isError, true);
  const { allowed, tool_name, mode, restriction, rule, code, spec_code } = answer.structuredContent;
  assert.deepEqual({ allowed, tool_name, mode, restriction, code, spec_code }, { allowed: false, tool_name: 'write_to_file', mode: 'architect', restriction: 'file', code: 'FILE_RESTRICTION_ERROR', spec_code: -32006 });
  assert.ok(rule);
  assert.equal((await call('complete_task', { session_id })).structuredContent.status, 'completed');
  const info = (await call('get_task_info', { session_id, include_messages: true })).structuredContent;
  assert.deepEqual(info.mode_history.map((h) => h.new_mode), ['code', 'architect']);
  assert.equal(info.messages[0].text, 'Write hello.py.');
  await assert.rejects(call('get_mode_info', { mode_slug: 'nobody' }), (e) => e.code === -32602 && e.data.code === 'MODE_NOT_FOUND' && e.data.specCode === -32001);
  await assert.rejects(call('get_task_info', { session_id: 'ses_nobody' }), (e) => e.data.code === 'TASK_NOT_FOUND' && e.data.specCode === -32002);
  const { contents } = await client.readResource({ uri: 'mode://architect/system_prompt' });
  const { messages } = await client.getPrompt({ name: 'architect' });
  assert.equal(contents[0].text, messages[0].content.text);
}

const info = { name: 'walk', version: '1' };
for (const [name, make] of [
  ['v1 over pipes', () => [new ClientV1(info), new StdioV1({ command: modec, args })]],
  ['v1 over HTTP', () => [new ClientV1(info), new HTTPV1(new URL(url))]],
  ['v2 over pipes', () => [new ClientV2(info, { versionNegotiation: { mode: 'auto' } }), new StdioV2({ command: modec, args })]],
  ['v2 over HTTP', () => [new ClientV2(info, { versionNegotiation: { mode: 'auto' } }), new HTTPV2(new URL(url))]],
]) {
  test(`the TypeScript SDK ${name}`, async () => {
    const [client, transport] = make();
    await client.connect(transport);
    try {
      await walk(client);
    } finally {
      await client.close();
    }
  });
}

test('Claude Code is connected over pipes and HTTP', async () => {
  const claude = join(here, '../../../claude/e2e/node_modules/.bin/claude');
  assert.ok(existsSync(claude), 'the end-to-end tests of claude install Claude Code; npm ci there');
  const [home, project, bin] = ['claude', 'project', 'bin'].map(temp);
  symlinkSync(modec, join(bin, 'modec'));
  const env = { HOME: home, PATH: `${bin}:/usr/bin:/bin`, DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1' };
  const ask = (...list) => run(claude, list, { cwd: project, env });
  await ask('mcp', 'add', 'pipes', '--', 'modec', ...args);
  await ask('mcp', 'add', '--transport', 'http', 'web', url);
  await ask('mcp', 'add', '--transport', 'http', 'architect', `${url}/architect`);
  const { stdout } = await ask('mcp', 'list');
  for (const name of ['pipes', 'web', 'architect']) assert.match(stdout, new RegExp(`^${name}: .*✔ Connected`, 'm'), stdout);
});

test('a change of the source is served without a new connection, and a broken one is not', async () => {
  const dir = temp('watched');
  cpSync(fixture, dir, { recursive: true });
  const [child, address] = await serve([], dir);
  try {
    const client = new ClientV1(info);
    await client.connect(new HTTPV1(new URL(address)));
    const until = async (what, holds) => {
      for (const end = Date.now() + 10_000; ; await new Promise((done) => setTimeout(done, 50))) {
        const modes = (await client.callTool({ name: 'list_modes', arguments: {} })).structuredContent;
        if (holds(modes)) return;
        assert.ok(Date.now() < end, `${what}: ${JSON.stringify(modes).slice(0, 500)}`);
      }
    };
    const file = join(dir, 'modec/fresh.cue');
    writeFileSync(file, 'package modec\n\nmodes: fresh: {name: "Fresh", roleDefinition: "You are new."}\n');
    await until('a new mode', (l) => l.modes.some((m) => m.slug === 'fresh'));
    writeFileSync(file, 'package modec\n\nmodes: fresh: {name: 5}\n');
    await until('a broken edit is told', (l) => /fresh\.cue:3/.test(l.broken ?? '') && l.modes.some((m) => m.slug === 'fresh'));
    writeFileSync(file, 'package modec\n');
    await until('the mode is gone', (l) => !l.broken && !l.modes.some((m) => m.slug === 'fresh'));
    await client.close();
  } finally {
    child.kill('SIGTERM');
  }
});

test('sessions outlive a server that is killed', async () => {
  const state = join(temp('state'), 'sessions.db');
  const start = async () => {
    const client = new ClientV1(info);
    const transport = new StdioV1({ command: modec, args: [...args, '--state', state] });
    await client.connect(transport);
    return [client, transport];
  };
  let [client, transport] = await start();
  const { session_id } = (await client.callTool({ name: 'create_task', arguments: { mode_slug: 'code', initial_message: 'Stay.' } })).structuredContent;
  await client.callTool({ name: 'switch_mode', arguments: { session_id, new_mode_slug: 'architect' } });
  process.kill(transport.pid, 'SIGKILL');
  await client.close();
  [client] = await start();
  try {
    const task = (await client.callTool({ name: 'get_task_info', arguments: { session_id, include_messages: true } })).structuredContent;
    assert.deepEqual([task.mode_slug, task.messages[0].text, task.mode_history.length], ['architect', 'Stay.', 2]);
  } finally {
    await client.close();
  }
});

test('what is written is served, and what does not compile is not written', async () => {
  const dir = temp('written');
  cpSync(fixture, dir, { recursive: true });
  // Each write verifies every agent: four of the ten will do.
  const settings = join(dir, 'modec.toml');
  writeFileSync(settings, readFileSync(settings, 'utf8').replace(/^\[targets\.(codex|copilot|gemini|opencode|kilo)\]$|^\[targets\.cursor\]\nsubject = .*$/gm, ''));
  const client = new ClientV1(info);
  await client.connect(new StdioV1({ command: modec, args: ['serve', '--no-global', '--allow-writes', '-C', dir] }));
  try {
    const call = async (name, more) => client.callTool({ name, arguments: more });
    const names = async () => (await call('list_roles', {})).structuredContent.roles.map((r) => r.name);
    const had = await names();
    const set = (roles) => call('set_roles', { roles });
    let res = await set([{ name: 'night', description: 'Works at night.', permission_mode: 'dontAsk', allowed_tools: ['Bash(npm test:*)'], disallowed_tools: ['WebFetch'], env: { NIGHT: '1' } }]);
    assert.equal(res.isError ?? false, false, JSON.stringify(res));
    assert.equal(res.structuredContent.file, 'modec/served/roles.cue');
    assert.deepEqual(await names(), [...had, 'night'].sort());
    const before = readFileSync(join(dir, 'modec/served/roles.cue'), 'utf8');
    await assert.rejects(set([{ name: 'x', description: '' }, { name: 'x', description: '' }]), (e) => e.data.code === 'VALIDATION_ERROR');
    await assert.rejects(set([{ name: 'y', description: '', permission_mode: 'full' }]), (e) => e.data.code === 'VALIDATION_ERROR' && e.data.field === 'roles[0].permission_mode');
    res = await set([{ name: 'z', description: '', allowed_tools: ['Bash(('] }]);
    assert.equal(res.isError, true);
    assert.match(res.structuredContent.problems[0].place, /^roles\.z\b/);
    res = await set([{ name: had[0], description: '', allowed_tools: ['Bash'] }]);
    assert.equal(res.isError, true, 'a role that the source has is not joined');
    assert.match(res.structuredContent.problems[0].message, /the source has role "auditor" already/);
    assert.equal(readFileSync(join(dir, 'modec/served/roles.cue'), 'utf8'), before, 'what does not compile changes nothing');
    const hostile = ['\\(x)', '"] } #', "'''\n", 'a\u2028b', '#"x"#'];
    res = await set(hostile.map((text, i) => ({ name: `h${i}`, description: text, append_system_prompt: text, env: { [`K${i}`]: text } })));
    assert.equal(res.isError ?? false, false, JSON.stringify(res));
    const back = (await call('list_roles', {})).structuredContent.roles.filter((r) => /^h\d$/.test(r.name));
    assert.deepEqual(back.map((r) => [r.description, r.append_system_prompt, Object.values(r.env)[0]]), hostile.map((text) => [text, text, text]), 'what is set is text, whatever it looks like');
    const all = await Promise.all([...Array(8).keys()].map((i) => set([{ name: `role-${i}`, description: '' }])));
    assert.ok(all.every((r) => !r.isError));
    assert.equal((await names()).filter((n) => n.startsWith('role-')).length, 1, 'the last of concurrent writers holds');
    await set([]);
    assert.deepEqual(await names(), had);
    const restrict = (restrictions) => call('update_mode_restrictions', { mode_slug: 'code', restrictions });
    const servers = async () => (await call('list_servers_for_mode', { mode_slug: 'code' })).structuredContent.servers.map((s) => s.name);
    const reached = await servers();
    res = await restrict({ disallowedServers: [reached[0]] });
    assert.equal(res.isError ?? false, false, JSON.stringify(res));
    assert.deepEqual(await servers(), reached.slice(1));
    writeFileSync(join(dir, 'modec/bare.cue'), 'package modec\n\nmodes: bare: {name: "Bare", roleDefinition: "x"}\n');
    for (const end = Date.now() + 10_000; !(await call('list_modes', {})).structuredContent.modes.some((m) => m.slug === 'bare') && Date.now() < end; ) await new Promise((done) => setTimeout(done, 50));
    res = await call('update_mode_restrictions', { mode_slug: 'bare', restrictions: {} });
    assert.equal(res.isError, true, 'restrictions that permit more are refused');
    assert.match(res.structuredContent.problems[0].message, /restrictions only hold back/);
    writeFileSync(join(dir, 'modec/bare.cue'), 'package modec\n\nservers: off: {command: "off", defaultEnabled: false}\nmodes: bare: {name: "Bare", roleDefinition: "x", can: mcp: "*": {allow: ["read_*"], default: "deny"}}\n');
    for (const end = Date.now() + 10_000; !/off by default/.test((await call('explain', { mode: 'bare', action: 'mcp', arg: 'off:read_x' })).structuredContent.rule) && Date.now() < end; ) await new Promise((done) => setTimeout(done, 50));
    res = await call('update_mode_restrictions', { mode_slug: 'bare', restrictions: { allowedServers: ['off'], allowedTools: [{ serverName: 'off', toolName: 'read_*' }] } });
    assert.equal(res.isError, true, 'restrictions do not open a server that is off');
    assert.match(res.structuredContent.problems[0].message, /restrictions only hold back/);
    res = await restrict({ allowedServers: ['a'], disallowedServers: ['a'] });
    assert.equal(res.isError, true);
    assert.deepEqual(await servers(), reached.slice(1));
    await call('update_mode_restrictions', { mode_slug: 'code' });
    assert.deepEqual(await servers(), reached);
  } finally {
    await client.close();
  }
});
