// Runs the own server of opencode, or of a program that is made of it, against a model of our own on the loopback
// interface, and tells what became of each call: no account, and no network. A program is {name, package, file, plugin}:
// the name of its files, its npm package, the executable, and the package of plugins.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const text = (content) => (typeof content === 'string' ? content : (content ?? []).map((p) => p.text ?? '').join('\n'));

// model answers as an OpenAI-compatible one: the prompt has the calls, one for each turn, in base64 behind "@@". It notes
// the tools that it is offered.
function model(req, res, offered) {
  let body = '';
  req.on('data', (d) => (body += d));
  req.on('end', () => {
    const { messages = [], tools = [], stream } = JSON.parse(body || '{}');
    for (const tool of tools) offered.add(tool.function.name);
    const last = messages.findLastIndex((m) => m.role === 'user' && text(m.content).includes('@@'));
    const plan = last < 0 || tools.length === 0 ? [] /* a title is made of a part of the text */ : JSON.parse(Buffer.from(text(messages[last].content).split('@@').pop().trim().match(/^[A-Za-z0-9+/=]*/)[0], 'base64'));
    const done = messages.slice(last + 1).filter((m) => m.role === 'assistant' && m.tool_calls).length;
    const call = tools.length > 0 ? plan[done] : undefined;
    const message = { role: 'assistant', content: call ? null : 'done' };
    if (call) message.tool_calls = [{ index: 0, id: `call_${done}`, type: 'function', function: { name: call[0], arguments: JSON.stringify(call[1]) } }];
    const finish_reason = call ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const head = { id: 'c', created: 1, model: 'm' };
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
}

// installed lays out what a program would fetch into a folder of settings.
export function installed(program, folder) {
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages: { '': { dependencies: { [program.plugin]: '*' } } } }));
}

// environment returns the variables of a program with a home folder of its own.
function environment(program, home, port) {
  const settings = join(home, '.config', program.name);
  installed(program, settings);
  writeFileSync(join(settings, `${program.name}.json`), JSON.stringify({
    provider: { fake: { npm: '@ai-sdk/openai-compatible', options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'x' }, models: { m: { tool_call: true, limit: { context: 1e6, output: 8000 } } } } },
    model: 'fake/m', small_model: 'fake/m', snapshot: false, lsp: false, formatter: false, experimental: { continue_loop_on_deny: true },
  }));
  writeFileSync(join(settings, '.bash-permission-migrated'), ''); // Kilo else allows every command to a user from before
  const off = ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS'].map((k) => [`${program.name.toUpperCase()}_DISABLE_${k}`, '1']);
  return { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_DATA_HOME: join(home, 'data'), XDG_CACHE_HOME: join(home, 'cache'), XDG_STATE_HOME: join(home, 'state'), ...Object.fromEntries(off) };
}

// fakeModel starts the model, and returns its port and the tools that it was offered.
async function fakeModel() {
  const offered = new Set();
  const server = createServer((req, res) => model(req, res, offered)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: server.address().port, offered, close: () => (server.closeAllConnections(), server.close()) };
}

// A test whose time is over is ended with SIGTERM: its programs end with it.
const running = new Set();
process.on('exit', () => running.forEach((p) => p.kill()));
process.once('SIGTERM', () => process.exit(143));

// Server is a program's server.
export class Server {
  static async start(program, more = {}) {
    const s = new Server();
    s.fake = await fakeModel();
    s.home = mkdtempSync(join(tmpdir(), `modec-${program.name}-home-`));
    s.process = spawn(program.file, ['serve', '--port', '0', '--print-logs'], { env: { ...environment(program, s.home, s.fake.port), ...more }, cwd: s.home, stdio: ['ignore', 'pipe', 'ignore'] });
    running.add(s.process);
    s.process.once('exit', () => running.delete(s.process));
    let out = '';
    for await (const chunk of s.process.stdout) {
      out += chunk;
      const at = out.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (at) {
        s.url = at[0];
        break;
      }
    }
    if (!s.url) throw new Error(`${program.name} did not start: ${out}`);
    return s;
  }

  async stop() {
    this.process.kill();
    this.fake.close();
    await once(this.process, 'exit');
  }

  async call(method, path, folder, body) {
    const res = await fetch(`${this.url}${path}?directory=${encodeURIComponent(folder)}`, { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
    const answer = await res.text();
    if (!res.ok) throw new Error(`${path}: ${res.status} ${answer.slice(0, 400)}`);
    return answer && JSON.parse(answer);
  }

  // asks follows the questions of a folder, and answers each one with yes, once.
  async asks(folder) {
    const stop = new AbortController(), asked = [];
    const res = await fetch(`${this.url}/event?directory=${encodeURIComponent(folder)}`, { signal: stop.signal });
    const follow = async () => {
      let rest = '';
      for await (const chunk of res.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop();
        for (const line of lines.filter((l) => l.startsWith('data:'))) {
          const event = JSON.parse(line.slice('data:'.length));
          if (event.type !== 'permission.asked') continue;
          asked.push(event.properties);
          await this.call('POST', `/permission/${event.properties.id}/reply`, folder, { reply: 'once' });
        }
      }
    };
    const followed = follow().catch(() => {});
    return { asked, close: async () => (stop.abort(), followed) };
  }

  // decide returns what the program does with each of some calls of an agent in a folder: allow, ask or deny.
  async decide(folder, agent, calls) {
    const asks = await this.asks(folder);
    const session = await this.call('POST', '/session', folder, {});
    this.fake.offered.clear();
    const plan = Buffer.from(JSON.stringify(calls)).toString('base64');
    await this.call('POST', `/session/${session.id}/message`, folder, { parts: [{ type: 'text', text: `go @@${plan}` }], model: { providerID: 'fake', modelID: 'm' }, agent });
    const messages = await this.call('GET', `/session/${session.id}/message`, folder);
    await asks.close();
    const parts = new Map(messages.flatMap((m) => m.parts).filter((p) => p.type === 'tool').map((p) => [p.callID, p]));
    const answered = messages.some((m) => m.info.role === 'assistant' && m.parts.some((p) => p.type === 'text' && p.text === 'done'));
    return calls.map(([tool], i) => {
      const part = parts.get(`call_${i}`);
      if (!part && answered && this.fake.offered.size === 0) return 'deny'; // no call can be made
      if (!part) return `no call of ${tool}`;
      const said = String(part.state.error ?? part.state.output);
      if (said.includes('prevents you from using') || said.startsWith('modec: ')) return 'deny';
      if (part.tool === 'invalid' || said.includes('unavailable tool')) return 'deny';
      return asks.asked.some((a) => a.tool?.callID === `call_${i}`) ? 'ask' : 'allow';
    });
  }
}
