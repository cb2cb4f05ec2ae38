// Runs sessions of the real Codex, without network: a server on this machine stands in for the model, and makes the calls
// that a test wants made; Codex's own app-server asks the questions that a person would answer.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

// program is Codex's own, of this system.
export function program() {
  const { platform, arch } = process;
  const triple = { linux: { x64: 'x86_64-unknown-linux-musl', arm64: 'aarch64-unknown-linux-musl' }, darwin: { x64: 'x86_64-apple-darwin', arm64: 'aarch64-apple-darwin' } }[platform][arch];
  return join(dirname(require.resolve(`@openai/codex-${platform}-${arch}/package.json`)), 'vendor', triple, 'bin/codex');
}

const main = 'the session that a test began';

// item is a call as the model makes it.
function item(id, [tool, input]) {
  if (tool === 'apply_patch') return { type: 'custom_tool_call', id: `c${id}`, call_id: id, name: tool, input: input.command, status: 'completed' };
  const call = { type: 'function_call', id: `f${id}`, call_id: id, name: tool, arguments: JSON.stringify(input), status: 'completed' };
  if (tool === 'Bash') return { ...call, name: 'exec_command', arguments: JSON.stringify({ cmd: input.command }) };
  if (tool === 'spawn_agent') return { ...call, namespace: 'multi_agent_v1' };
  const of = tool.match(/^(mcp__\w+?)__(.*)$/);
  return of ? { ...call, namespace: of[1], name: of[2] } : call;
}

const message = (id, text) => ({ type: 'message', id, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] });

// model answers each request of a session with its next call, and each of an agent, which it knows by a part of
// its instructions, with one of its own.
function model(calls, agents) {
  const seen = { first: null, outputs: {}, n: 0, agents: {} };
  // idle waits until every agent has made its calls.
  const idle = async () => {
    const busy = () => Object.keys(agents).some((mark) => (seen.agents[mark]?.n ?? 0) <= agents[mark].length);
    for (let i = 0; i < 300 && busy(); i++) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (d) => (body += d));
    req.on('end', async () => {
      if (req.method !== 'POST' || !req.url.endsWith('/responses')) {
        res.writeHead(req.method === 'GET' ? 200 : 404, { 'content-type': 'application/json' });
        return res.end('{"object": "list", "data": [], "models": []}');
      }
      let items;
      const asked = JSON.parse(body);
      const outputs = (to) => asked.input.forEach((i) => i.type?.endsWith('call_output') && i.call_id && (to[i.call_id] = typeof i.output === 'string' ? i.output : JSON.stringify(i.output)));
      const agent = Object.keys(agents).find((mark) => body.includes(mark));
      if (agent) {
        const of = (seen.agents[agent] ??= { n: 0, outputs: {}, tools: asked.tools });
        outputs(of.outputs);
        items = of.n < agents[agent].length ? [item(`agent_${of.n}`, agents[agent][of.n])] : [message('m', 'done')];
        of.n++;
      } else if (body.includes(main)) {
        seen.first ??= asked;
        if (calls[seen.n - 1]?.[0] === 'spawn_agent') await idle();
        outputs(seen.outputs);
        items = seen.n < calls.length ? [item(`call_${seen.n}`, calls[seen.n])] : [message('m', 'done')];
        seen.n++;
      } else items = [message('m', 'done')];
      const events = [{ type: 'response.created', response: { id: 'r' } }, ...items.flatMap((it, k) => [{ type: 'response.output_item.added', output_index: k, item: it }, { type: 'response.output_item.done', output_index: k, item: it }]),
        { type: 'response.completed', response: { id: 'r', usage: { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 } } }];
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join(''));
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({ server, seen })));
}

// place writes a user's own configuration, which names the model's stand-in, and returns the environment.
function place({ home, bin, server, config }) {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'config.toml'), `model = "gpt-5.5"\nmodel_provider = "here"\n${config}\n[model_providers.here]\nname = "here"\nbase_url = "http://127.0.0.1:${server.address().port}/v1"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\nenv_key = "NO_KEY"\n`);
  return { ...Object.fromEntries(Object.entries(process.env).filter(([k]) => !k.startsWith('CODEX'))), CODEX_HOME: home, HOME: home, NO_KEY: 'x', PATH: `${bin}:${process.env.PATH}`, GITHUB_TOKEN: 'x', SHOP_TOKEN: 'x', ACME_ADMIN_TOKEN: 'x', ACME_ADMIN_REASON: 'x' };
}

// started returns how Codex is started; etc is a folder in the place of /etc.
function started(args, etc) {
  return etc ? ['unshare', ['-rm', 'sh', '-c', 'mount --bind "$0" /etc && exec "$@"', etc, program(), ...args]] : [program(), args];
}

// session starts Codex in a folder with some arguments, makes the calls, answers no to every question, and returns what
// became of each call, with the tools that the session had.
export async function session({ at, home, bin, args, calls, agents = {}, config = '', etc }) {
  const { server, seen } = await model(calls, agents);
  const env = place({ home, bin, server, config });
  const codex = spawn(...started([...args, 'app-server'], etc), { cwd: at, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '', rest = '', id = 0;
  codex.stderr.on('data', (d) => (stderr += d));
  const waiting = new Map(), asks = [], warnings = [];
  let completed, failed;
  const done = new Promise((resolve, reject) => ([completed, failed] = [resolve, reject]));
  const send = (m) => codex.stdin.write(JSON.stringify(m) + '\n');
  const ask = (method, params) => new Promise((resolve, reject) => {
    waiting.set(++id, { resolve, reject });
    send({ id, method, params });
  });
  codex.stdout.on('data', (d) => {
    const lines = (rest + d).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const m = JSON.parse(line);
      if (m.method && m.id !== undefined) {
        asks.push({ method: m.method, params: m.params, during: (m.params.threadId ?? thread) === thread ? seen.n - 1 : -1 });
        send({ id: m.id, result: m.method.includes('elicitation') ? { action: 'decline', content: null } : { decision: 'decline' } });
      } else if (m.id !== undefined) {
        const w = waiting.get(m.id);
        m.error ? w.reject(new Error(JSON.stringify(m.error))) : w.resolve(m.result);
      } else if (m.method === 'turn/completed' && m.params.threadId === thread) completed();
      else if (['configWarning', 'warning', 'error'].includes(m.method)) warnings.push(m.params);
    }
  });
  codex.on('exit', () => failed(new Error(`Codex ended: ${stderr.slice(-2000)}`)));
  let thread;
  try {
    await Promise.race([ask('initialize', { clientInfo: { name: 'modec', title: 'modec', version: '0' }, capabilities: { experimentalApi: true } }), done]);
    send({ method: 'initialized' });
    // The app-server does not read the option by which `modec run` has hooks run.
    const started = await ask('thread/start', { cwd: at, config: args.includes('--dangerously-bypass-hook-trust') ? { bypass_hook_trust: true } : {} });
    thread = started.thread.id;
    await ask('turn/start', { threadId: thread, input: [{ type: 'text', text: main }] });
    await done;
  } finally {
    codex.removeAllListeners('exit');
    codex.kill('SIGKILL');
    server.close();
    server.closeAllConnections();
  }
  const names = seen.first.tools.flatMap((t) => (t.type === 'namespace' ? t.tools.map((x) => `${t.name}__${x.name}`) : [t.name ?? t.type]));
  const asked = new Set(asks.map((a) => a.during));
  const became = calls.map((call, i) => {
    if (call[0] === 'web_search') return names.includes('web_search') ? 'allow' : 'deny';
    return asked.has(i) ? 'ask' : ran(call[0], seen.outputs[`call_${i}`] ?? '') ? 'allow' : 'deny';
  });
  return { became, names, outputs: calls.map((_, i) => seen.outputs[`call_${i}`]), agents: seen.agents, asks, warnings, policy: seen.first };
}

// headless runs `codex exec`, in which nobody is asked, and returns the output of each call.
export async function headless({ at, home, bin, args, calls }) {
  const { server, seen } = await model(calls, {});
  const env = place({ home, bin, server, config: '' });
  const codex = spawn(program(), [...args, 'exec', main], { cwd: at, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  codex.stderr.on('data', (d) => (stderr += d));
  const status = await new Promise((resolve) => codex.on('exit', resolve));
  server.close();
  server.closeAllConnections();
  if (status !== 0) throw new Error(`Codex ended with ${status}: ${stderr.slice(-2000)}`);
  return calls.map((_, i) => seen.outputs[`call_${i}`]);
}

// ran reports whether a call was run, by its output.
export function ran(tool, output) {
  if (/blocked by PreToolUse hook|unsupported call|rejected/.test(output)) return false;
  if (tool === 'Bash') return /Process exited with code|session ID/.test(output);
  if (tool === 'apply_patch') return /Success/.test(output);
  if (tool === 'read_mcp_resource') return /RAN/.test(output);
  if (tool.startsWith('mcp__')) return /RAN/.test(output);
  return true;
}

// answer is that of a server with some tools, which only say that they ran.
export function answer(tools, m) {
  switch (m.method) {
    case 'initialize':
      return { protocolVersion: m.params.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: 'stub', version: '1' } };
    case 'tools/list':
      return { tools: tools.map((t) => ({ name: t, description: t, inputSchema: { type: 'object' } })) };
    case 'tools/call':
      return { content: [{ type: 'text', text: `RAN ${m.params.name}` }] };
    case 'resources/list':
      return { resources: [{ uri: 'any', name: 'any' }] };
    case 'resources/read':
      return { contents: [{ uri: 'any', text: 'RAN' }] };
  }
  return {};
}

// serve answers over HTTP for servers, by the paths of their addresses.
export function serve(servers) {
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (d) => (body += d));
    req.on('end', () => {
      if (req.method !== 'POST') return res.writeHead(405).end();
      const m = JSON.parse(body);
      if (m.id === undefined) return res.writeHead(202).end();
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: answer(servers[req.url.slice(1)], m) }));
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}
