// Holds modec gateway between real servers and real clients: the conformance suite in front of the SDK's own server,
// and npm's reference servers behind it for the Inspector and both generations of the TypeScript SDK. MODEC_BIN is the
// binary.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
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

const modec = process.env.MODEC_BIN;
const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, 'node_modules');
const node22 = join(modules, '.bin/node');
const run = promisify(execFile);
const temp = (name) => mkdtempSync(join(tmpdir(), `modec-${name}-`));
const env = { ...process.env, HOME: temp('home'), XDG_STATE_HOME: temp('state') };
const finish = (file, list) => run(file, list, { env, maxBuffer: 64 << 20 }).then(({ stdout, stderr }) => [0, stdout + stderr], (e) => [e.code, `${e.stdout}${e.stderr}`]);

// project writes a source, and has the servers say what they offer.
async function project(toml, source) {
  const dir = temp('gateway');
  mkdirSync(join(dir, 'modec'));
  writeFileSync(join(dir, 'modec.toml'), `[targets.model]\n${toml}`);
  writeFileSync(join(dir, 'modec/a.cue'), `package modec\n\n${source}`);
  const [code, log] = await finish(modec, ['-C', dir, 'inventory', '--update', '--accept']);
  assert.equal(code, 0, log);
  return dir;
}

const running = [];

async function serve(dir, ...more) {
  const child = spawn(modec, ['-C', dir, 'gateway', '--accept', '--http', '127.0.0.1:0', ...more], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  running.push(child);
  return new Promise((done, fail) => {
    let text = '';
    child.stdout.on('data', (d) => {
      text += d;
      const m = /serving (\S+)/.exec(text);
      if (m) done(m[1]);
    });
    child.on('exit', (code) => fail(new Error(`modec gateway ended with ${code}: ${text}`)));
  });
}

const token = { dev: 'a-token-for-the-developers', guest: 'a-token-for-the-guests-alone' };
const data = temp('data');
let dir, url, open;

before(async () => {
  const own = join(temp('bin'), 'everything');
  await run('go', ['build', '-o', own, 'github.com/modelcontextprotocol/go-sdk/conformance/everything-server'], { cwd: here });
  open = await serve(await project('', `servers: own: command: ${JSON.stringify(own)}\nroles: r: {claims: "anyone", can: mcp: "allow"}\n`), '--namespace', 'own=');
  writeFileSync(join(data, 'hello.txt'), 'hello from a file\n');
  const npm = (name, ...args) => JSON.stringify({ command: node22, args: [join(modules, '@modelcontextprotocol', name, 'dist/index.js'), ...args] });
  const tokens = Object.entries(token).map(([name, text]) => `[[gateway.auth.tokens]]
name = "${name}"
sha256 = "${createHash('sha256').update(text).digest('hex')}"
claims = {groups = "${name}"}
`).join('');
  dir = await project(tokens, `servers: {
	every: ${npm('server-everything', 'stdio')}
	files: ${npm('server-filesystem', data)}
}
roles: {
	dev: {claims: groups: "dev", can: mcp: {every: "allow", files: {deny: ["write_file", "move_file"], default: "allow"}}}
	guest: {claims: groups: "guest", can: mcp: files: {allow: ["read_text_file"], default: "deny"}}
}
`);
  url = await serve(dir);
});

after(async () => {
  for (const child of running) {
    child.removeAllListeners('exit');
    const ended = new Promise((done) => child.on('exit', done));
    child.kill('SIGTERM');
    assert.equal(await ended, 0, 'a gateway that is asked to ends cleanly');
  }
});

const suite = join(modules, '@modelcontextprotocol/conformance/dist/index.js');

for (const revision of ['2025-11-25', '2026-07-28']) {
  test(`the conformance suite of ${revision} through the gateway`, async () => {
    const expected = join(here, `testdata/gateway-failures-${revision}.yml`);
    const [code, log] = await finish(node22, [suite, 'server', '--url', open, '--requirements', revision, '--expected-failures', expected]);
    assert.equal(code, 0, log.slice(-4000));
    assert.match(log, /Baseline check passed/);
    for (const line of readFileSync(expected, 'utf8').split('\n').filter((l) => l.startsWith('  - '))) {
      assert.match(line, /# (a request of a server to the client|the log of a server)$/);
    }
  });
}

const inspector = join(modules, '.bin/mcp-inspector');

for (const [method, holds, ...more] of [
  ['tools/list', (r) => r.tools.some((t) => t.name === 'files_read_text_file') && !r.tools.some((t) => t.name === 'files_write_file')],
  ['tools/call', (r) => r.content[0].text === 'hello from a file\n', '--tool-name', 'files_read_text_file', '--tool-arg', `path=${join(data, 'hello.txt')}`],
  ['resources/list', (r) => r.resources.length > 0],
  ['prompts/list', (r) => r.prompts.every((p) => p.name.startsWith('every_')) && r.prompts.length > 0],
]) {
  test(`the Inspector: ${method} through the gateway`, async () => {
    const ask = async (what, ...list) => {
      const [code, log] = await finish(node22, [inspector, '--cli', ...list, '--format', 'json', '--method', method, ...more]);
      assert.equal(code, 0, `${what}: ${log.slice(-2000)}`);
      const answer = JSON.parse(log.slice(log.indexOf('{')));
      assert.ok(holds(answer.result ?? answer), `${what}: ${log.slice(0, 2000)}`);
    };
    for (const era of ['legacy', 'modern']) {
      await ask(era, '--server-url', url, '--transport', 'http', '--protocol-era', era, '--header', `Authorization: Bearer ${token.dev}`);
    }
    await ask('over pipes', modec, '-C', dir, 'gateway', '--accept', '--role', 'dev');
  });
}

// walk holds what a developer sees of the servers, can call and cannot.
async function walk(client) {
  const names = (await client.listTools()).tools.map((t) => t.name);
  assert.ok(names.includes('every_echo') && names.includes('files_read_text_file'), names.join());
  assert.ok(!names.includes('files_write_file') && !names.includes('files_move_file'), names.join());
  const call = (name, args, ...more) => client.callTool({ name, arguments: args }, ...more);
  assert.match((await call('every_echo', { message: 'hi' })).content[0].text, /hi/);
  assert.equal((await call('files_read_text_file', { path: join(data, 'hello.txt') })).content[0].text, 'hello from a file\n');
  const path = join(data, 'new.txt');
  for (const name of ['files_write_file', 'files_no_such_tool', 'write_file']) {
    await assert.rejects(call(name, { path, content: 'x' }), (e) => e.code === -32602 && e.message.includes(`unknown tool "${name}"`));
  }
  assert.ok(!existsSync(path), 'a denied call is not made');
  assert.ok((await client.listResources()).resources.length > 0);
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.length > 0);
  const simple = prompts.find((p) => !p.arguments?.some((a) => a.required));
  assert.ok((await client.getPrompt({ name: simple.name })).messages.length > 0);
}

// glance holds what a guest sees: one tool, and no trace of others.
async function glance(client) {
  assert.deepEqual((await client.listTools()).tools.map((t) => t.name), ['files_read_text_file']);
  await assert.rejects(client.callTool({ name: 'every_echo', arguments: { message: 'hi' } }), (e) => e.message.includes('unknown tool "every_echo"'));
  assert.deepEqual((await client.listPrompts()).prompts, []);
  assert.deepEqual((await client.listResources()).resources, []);
}

const info = { name: 'walk', version: '1' };
const v1 = () => new ClientV1(info);
const v2 = () => new ClientV2(info, { versionNegotiation: { mode: 'auto' } });
const pipes = (role) => ({ command: modec, args: ['-C', dir, 'gateway', '--accept', '--role', role], env });
const web = (role) => [new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token[role]}` } } }];
for (const [role, holds] of [['dev', walk], ['guest', glance]]) {
  for (const [name, make] of [
    ['v1 over pipes', () => [v1(), new StdioV1(pipes(role))]],
    ['v1 over HTTP', () => [v1(), new HTTPV1(...web(role))]],
    ['v2 over pipes', () => [v2(), new StdioV2(pipes(role))]],
    ['v2 over HTTP', () => [v2(), new HTTPV2(...web(role))]],
  ]) {
    test(`the TypeScript SDK ${name} as ${role}`, async () => {
      const [client, transport] = make();
      await client.connect(transport);
      try {
        await holds(client);
      } finally {
        await client.close();
      }
    });
  }
}

test('a token that nobody gave out opens nothing', async () => {
  for (const [client, HTTP] of [[v1(), HTTPV1], [v2(), HTTPV2]]) {
    await assert.rejects(client.connect(new HTTP(new URL(url), { requestInit: { headers: { Authorization: 'Bearer a-token-that-nobody-gave-out' } } })));
  }
});
