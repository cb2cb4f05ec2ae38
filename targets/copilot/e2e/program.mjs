// Runs the real Copilot CLI as a subject by `modec run`, without an account and without network: a server on this machine
// stands in for the model, and makes the calls that a test wants made.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = dirname(fileURLToPath(import.meta.url));
export const program = join(here, 'node_modules/@github/copilot-linux-x64/copilot');
const { MODEC_BIN: modec } = process.env;

// answer is that of an MCP server with some tools, of which each says that it only reads.
export function answer(tools, m) {
  switch (m.method) {
    case 'initialize': return { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'stub', version: '1' } };
    case 'tools/list': return { tools: tools.map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} }, annotations: { readOnlyHint: true } })) };
    case 'tools/call': return { content: [{ type: 'text', text: `ran ${m.params.name}` }] };
  }
  return {};
}

const text = (content) => (typeof content === 'string' ? content : (content ?? []).map((p) => p.text ?? '').join('\n'));

// listen starts a server on this machine, and returns it with its port.
async function listen(respond) {
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (d) => (body += d));
    req.on('end', () => respond(req, res, body));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, close: () => (server.closeAllConnections(), server.close()) };
}

// serve answers for MCP servers, by the paths of their addresses.
export const serve = (servers) => listen((req, res, body) => {
  if (req.method !== 'POST') return res.writeHead(405).end();
  const m = JSON.parse(body);
  if (m.id === undefined) return res.writeHead(202).end();
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: answer(servers[req.url.slice(1)], m) }));
});

// plan returns the calls behind "@@" in the latest message of a user, and how many of them were made.
function plan(messages) {
  const last = messages.findLastIndex((m) => m.role === 'user' && text(m.content).includes('@@'));
  if (last < 0) return { calls: [], made: 0 };
  const calls = JSON.parse(Buffer.from(text(messages[last].content).split('@@').pop().match(/^[A-Za-z0-9+/=]*/)[0], 'base64'));
  return { calls, made: messages.slice(last + 1).filter((m) => m.role === 'assistant' && m.tool_calls).length };
}

// model answers as an OpenAI-compatible one: each request with the next call of its prompt.
const model = (offered) => listen((req, res, body) => {
  if (req.method !== 'POST') return res.end('{"object": "list", "data": [{"id": "m", "object": "model"}]}');
  const { messages = [], tools = [], stream } = JSON.parse(body);
  const { calls, made } = plan(messages);
  if (offered.length === 0 && tools.length > 0) offered.push(...tools.map((t) => t.function.name));
  const call = tools.length > 0 ? calls[made] : undefined;
  const message = { role: 'assistant', content: call ? null : 'done' };
  if (call) message.tool_calls = [{ index: 0, id: `${call.of ?? 'call'}_${made}`, type: 'function', function: { name: call[0] ?? call.tool, arguments: JSON.stringify(call[1] ?? call.input) } }];
  const finish_reason = call ? 'tool_calls' : 'stop';
  const head = { id: 'c', created: 1, model: 'm' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!stream) {
    res.setHeader('content-type', 'application/json');
    return res.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage }));
  }
  res.setHeader('content-type', 'text/event-stream');
  const send = (delta, finish_reason = null, more = {}) => res.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`);
  send(message);
  send({}, finish_reason, { usage });
  res.end('data: [DONE]\n\n');
});

// prompt has the calls that a session or an agent makes.
export const prompt = (calls, of = 'call') => `go @@${Buffer.from(JSON.stringify(calls.map(([tool, input]) => ({ tool, input, of })))).toString('base64')}`;

// became says what Copilot made of a call, by how it ended: what is past its own questions was allowed, also where it failed.
function became(said) {
  if (said === undefined) return 'no call';
  if (/no interactive user response|unable to ask user/.test(said)) return 'ask';
  if (said.startsWith('[denied]') || /^\[\w+\] Tool '[^']*' does not exist/.test(said)) return 'deny';
  return 'allow';
}

// Copilot takes the values of such variables out of all that it prints.
const secrets = Object.fromEntries(['GITHUB_TOKEN', 'SHOP_TOKEN', 'ACME_ADMIN_TOKEN', 'ACME_ADMIN_REASON'].map((name) => [name, 'modec-end-to-end']));

// Project is a build of the showcase whose servers are on this machine.
export class Project {
  constructor(work, name, servers, port) {
    this.work = work;
    this.at = join(work, name);
    this.home = join(work, `${name}-home`);
    this.bin = join(work, 'bin');
    mkdirSync(this.home);
    cpSync(process.env.MODEC_FIXTURE, this.at, { recursive: true });
    const file = join(this.at, 'modec/servers.cue');
    const local = (n) => `http://127.0.0.1:${port}/${n}`;
    writeFileSync(file, readFileSync(file, 'utf8').replace('http://127.0.0.1:3000/mcp', local('shop')).replace('https://admin.acme.example/mcp', local('admin')).replace(/type: *"sse"/, 'type: "http"').replace('https://docs.acme.example/mcp/sse', local('docs')));
    for (const [command, ...args] of [['git', 'init', '-q'], [modec, 'build']]) {
      const { status, stderr } = spawnSync(command, args, { cwd: this.at, encoding: 'utf8', env: { ...process.env, HOME: this.home } });
      assert.equal(status, 0, stderr);
    }
  }

  env(more = {}) {
    return { PATH: `${this.bin}:${process.env.PATH}`, HOME: this.home, XDG_CACHE_HOME: join(this.work, 'cache'), COPILOT_OFFLINE: 'true', COPILOT_MODEL: 'm', COPILOT_AUTO_UPDATE: 'false',
      ...secrets, ...more };
  }

  // session makes calls as a subject, or as nobody where that is null, and returns what became of them.
  async session(subject, calls, { env = {}, args = [], agent = [] } = {}) {
    const offered = [];
    const fake = await model(offered);
    const line = ['copilot', '-p', prompt(calls), '--output-format', 'json', '--no-color', ...args];
    const [command, ...rest] = subject === null ? line : [modec, 'run', '--accept', subject, '--', ...line];
    const child = spawn(command, rest, { cwd: this.at, env: this.env({ COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${fake.port}/v1`, ...env }), stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '', err = '';
    child.stdout.on('data', (d) => (out += d));
    child.stderr.on('data', (d) => (err += d));
    const status = await new Promise((resolve) => child.on('close', resolve));
    fake.close();
    const said = {};
    for (const l of out.split('\n').filter((l) => l.startsWith('{'))) {
      const { type, data } = JSON.parse(l);
      if (type !== 'tool.execution_complete') continue;
      said[data.toolCallId] = data.success ? String(data.result?.content) : `[${data.error?.code}] ${data.error?.message}`;
    }
    const of = (list, name) => list.map((_, i) => said[`${name}_${i}`]);
    const outputs = of(calls, 'call'), inside = of(agent, 'agent');
    return { status, err, out, offered, outputs, became: outputs.map(became), agent: { outputs: inside, became: inside.map(became) } };
  }
}

// workshop makes a folder with the programs that sessions find.
export function workshop(servers) {
  const work = realpathSync(mkdtempSync(join(process.env.MODEC_WORK ?? tmpdir(), 'modec-copilot-')));
  const bin = join(work, 'bin');
  mkdirSync(bin);
  symlinkSync(modec, join(bin, 'modec'));
  symlinkSync(program, join(bin, 'copilot'));
  for (const [name, command] of Object.entries({ github: 'github-mcp-server', browser: 'playwright-mcp' })) {
    const list = join(work, `${name}.json`);
    writeFileSync(list, JSON.stringify(servers[name]));
    writeFileSync(join(bin, command), `#!/bin/sh\nexec '${process.execPath}' '${join(here, 'stub.mjs')}' '${list}'\n`);
    chmodSync(join(bin, command), 0o755);
  }
  return work;
}
