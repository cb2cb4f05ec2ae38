// One turn of the real Claude Code against a stand-in of its service: the model asks for all calls at
// once, and each has an answer. Questions go to a permission prompt tool that refuses them by a word of
// its own, so that an ask is told from a refusal. No login, no network, and the MCP servers are
// stand-ins that offer the same tools.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const claude = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/.bin/claude');
export const scratch = mkdtempSync(join(tmpdir(), 'modec-decide-'));

// stub is an MCP server over standard input and output. The tool "ask" is the
// permission prompt. Calls are written into the file that CALLS names.
export const stub = join(scratch, 'stub.mjs');
export const asked = 'put to a person';
writeFileSync(stub, `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const tools = process.argv.slice(2);
for await (const line of createInterface({ input: process.stdin })) {
  const m = JSON.parse(line);
  if (m.id === undefined) continue;
  if (m.method === 'tools/call' && process.env.CALLS) appendFileSync(process.env.CALLS, m.params.name + '\\n');
  const result = {
    initialize: () => ({ protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'stub', version: '1' } }),
    'tools/list': () => ({ tools: tools.map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} }, annotations: { readOnlyHint: true } })) }),
    'tools/call': () => ({ content: [{ type: 'text', text: m.params.name !== 'ask' ? 'done' : JSON.stringify(process.env.AGREES ? { behavior: 'allow', updatedInput: m.params.arguments.input } : { behavior: 'deny', message: '${asked}' }) }] }),
  }[m.method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: result ? result() : {} }));
}
`);

let server, port;
const turns = new Map(); // the folder of a session, and the calls of each turn that it has not had

export async function listen() {
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
      const turn = (data.tools ?? []).length > 0 ? turns.get(session) : undefined;
      const calls = turn?.steps.shift();
      const content = calls
        ? calls.map((c) => ({ type: 'tool_use', id: `toolu_${turn.made++}`, name: c.name, input: JSON.parse(JSON.stringify(c.input).replaceAll('ROOT', turn.root)) }))
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
      send('message_delta', { delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } });
      send('message_stop', {});
      res.end();
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  port = server.address().port;
}

export const close = () => server.close();

let sessions = 0;

// place makes the folders of a session: of its project, its programs and its home,
// in which a person trusts the project or does not.
export function place(trusted) {
  const name = `s${sessions++}`;
  const at = { name, root: join(scratch, name, 'project'), bin: join(scratch, name, 'bin'), home: join(scratch, name, 'home') };
  for (const dir of [at.root, at.bin, at.home]) mkdirSync(dir, { recursive: true });
  // The hooks of a subagent of the project run where a person has trusted its folder.
  writeFileSync(join(at.home, '.claude.json'), JSON.stringify({ projects: { [realpathSync(at.root)]: { hasTrustDialogAccepted: trusted } } }));
  return at;
}

// prompter are the arguments by which questions go to the permission prompt, beside servers. It refuses, or agrees.
export const prompter = (servers = {}, env = {}) => [`--mcp-config=${JSON.stringify({ mcpServers: { ...servers, prompter: { command: process.execPath, args: [stub, 'ask'], env } } })}`, '--permission-prompt-tool=mcp__prompter__ask'];
export const agrees = { AGREES: 'yes' };

// session runs one and returns the result of each call, whether it failed and its text, and what it wrote. The calls are
// made at once, or those of each list after the ones before have their answers. In arguments
// and calls ROOT is the project's folder. The agent waits for its servers before its first turn.
export async function session({ name, root, bin, home }, calls, args, prompt = 'hi') {
  const steps = Array.isArray(calls[0]) ? [...calls] : [calls];
  calls = steps.flat();
  turns.set(name, { root, steps, made: 0 });
  const child = spawn(claude, ['-p', prompt, '--output-format=stream-json', '--verbose', ...args.map((a) => a.replaceAll('ROOT', root))], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${bin}:/usr/bin:/bin`, HOME: home, ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}/${name}`, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', GIT_CONFIG_GLOBAL: '/dev/null', MCP_CONNECTION_NONBLOCKING: 'false' },
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
  return { results: calls.map((_, i) => results[`toolu_${i}`]), log: err + out };
}

// turn runs a session and returns a letter for each call: a(llowed), k (asked), d(enied), c for a classifier
// that is not here.
export async function turn(at, calls, servers, args, prompt) {
  const stubs = servers.map((s) => [s, { command: process.execPath, args: [stub, ...calls.flatMap((c) => (c.name.startsWith(`mcp__${s}__`) ? [c.name.slice(`mcp__${s}__`.length)] : []))] }]);
  const { results, log } = await session(at, calls, ['--strict-mcp-config', ...prompter(Object.fromEntries(stubs)), ...args], prompt);
  return results.map((r) => letter(r, log));
}

export function letter(result, log) {
  assert.ok(result, `the agent gave no result: ${log.slice(0, 2000)}`);
  const [failed, text] = result;
  if (failed && text.includes('Auto mode is unavailable')) return 'c';
  if (text.includes(asked)) return 'k';
  if (failed && /has been denied|denied by your permission|No such tool available|modec: |covered by a Read deny|blocked by a deny rule|denied access to domain|not run/.test(text)) return 'd';
  return 'a'; // it ran, whatever came of it
}
