// Loads three classes of Cursor's agent engine out of the bundle of @cursor/sdk:
// the permissions service, which matches the tokens, the hook runner, and the
// reader of hooks.json. The rest of the bundle is replaced by stubs: none of
// the classes needs it.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { spawn } from 'node:child_process';
import { runInThisContext } from 'node:vm';

const require = createRequire(import.meta.url);
const chunk = join(dirname(require.resolve('@cursor/sdk')), '342.js');

// classBefore names the class whose body holds a text.
function classBefore(source, text) {
  const end = source.indexOf(text);
  if (end < 0) throw new Error(`the engine has no ${text}: another version?`);
  return source.slice(source.lastIndexOf('class ', end)).match(/^class (\w+)/)[1];
}

// stub stands for everything: it can be called, constructed, walked and asked
// for any property.
function stub() {
  const own = { then: undefined, [Symbol.toPrimitive]: () => '', [Symbol.iterator]: function* () {} };
  return new Proxy(function () {}, {
    get: (f, key) => (key === 'prototype' ? f.prototype : key in own ? own[key] : stub()),
    apply: () => stub(),
    construct: () => ({}),
  });
}

function load() {
  const source = readFileSync(chunk, 'utf8');
  const exported = `{Permissions:()=>${classBefore(source, 'matchesMcpPattern({pattern:')},Hooks:()=>${classBefore(source, 'getCommandHookPayloadTransportMode(){')},HooksReader:()=>${classBefore(source, 'parseAndValidate(e,t){')},`;
  const bundle = { exports: {} };
  runInThisContext(`(function(exports,require){${source.replace('{createLocalExecutor:()=>', `${exported}createLocalExecutor:()=>`)}\n})`, { filename: chunk })(bundle.exports, require);
  const found = {};
  const webpack = (id) => (id.startsWith('node:') ? require(id) : stub());
  webpack.d = (_, getters) => {
    for (const [name, get] of Object.entries(getters)) Object.defineProperty(found, name, { get });
  };
  webpack.n = (m) => Object.assign(() => m, { a: m });
  webpack.t = webpack.r = webpack.e = () => ({});
  webpack.g = globalThis;
  bundle.exports.modules['./src/agent/local-executor.ts']({}, found, webpack);
  return found;
}

const { Permissions, Hooks, HooksReader } = load();

// permissions decides by the tokens of a cli.json as the engine does.
export function permissions({ allow, deny }) {
  const service = Object.create(Permissions.prototype);
  service.permissionsProvider = { getPermissions: async () => ({ allow, deny }) };
  const command = (list, line) => list.some((token) => service.isShellEntry(token) && service.matchesShell(token, line));
  return {
    // The lists' word on a simple command; the engine splits a line before.
    command: (line) => (command(deny, line) ? 'deny' : command(allow, line) ? 'allow' : 'ask'),
    mcp: async (server, tool) => ((await service.isMcpExplicitlyDenied({}, server, tool)) ? 'deny' : (await service.isMcpExplicitlyAllowed({}, server, tool)) ? 'allow' : 'ask'),
    denies: (keyword, path) => service.isPathExplicitlyDenied(keyword, path),
    opens: (keyword, path) => service.isPathExplicitlyAllowed(keyword, path),
    host: (name) => (deny.some((t) => service.matchesWebFetchEntry(t, name)) ? 'deny' : allow.some((t) => service.matchesWebFetchEntry(t, name)) ? 'allow' : 'ask'),
  };
}

// shell runs a hook's command as the engine's shell executor does.
function shell(path) {
  return {
    async *execute(_, command, { workingDirectory, env, pipeStdin }) {
      const child = spawn('/bin/sh', ['-c', command], { cwd: workingDirectory, env: { ...env, PATH: path }, stdio: [pipeStdin ? 'pipe' : 'ignore', 'pipe', 'pipe'] });
      const chunks = { stdout: [], stderr: [] };
      for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => chunks[name].push(data));
      const done = new Promise((resolve) => child.on('close', resolve));
      if (pipeStdin) yield { type: 'stdin_ready', stdin: child.stdin };
      const code = await done;
      for (const name of ['stdout', 'stderr']) yield { type: name, data: Buffer.concat(chunks[name]) };
      yield { type: 'exit', code };
    },
  };
}

// conversation is the session of all payloads: it begins with this project.
const conversation = randomUUID();

// hooks runs the hooks of a project as the engine does and returns what it makes
// of their answers: "allow", "deny", "ask", or "none" for no opinion. transport
// is how the payload travels: "stdin", or "legacy", a here-document that the
// engine appends to the command.
export function hooks(projectHooks, workspace, path, transport) {
  const runner = new Hooks({ projectHooks, configDirs: {} }, workspace, { cursor_version: '3.20.17' }, shell(path), undefined, undefined, undefined, { commandHookPayloadTransport: transport });
  return async (event, request) => (await runner.executeHookForStep(event, { conversation_id: conversation, generation_id: 'g', model: 'm', ...request }))?.permission ?? 'none';
}

// takesHooks reports whether the engine takes the text of a hooks.json.
export function takesHooks(text) {
  return HooksReader.prototype.parseAndValidate.call(Object.create(HooksReader.prototype), text, 'project').config !== undefined;
}
