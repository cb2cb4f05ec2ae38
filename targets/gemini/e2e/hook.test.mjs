// Runs Gemini CLI's own program with modec's hook, offline: in a project with a baseline, in sessions of `modec run`,
// and without modec. MODEC_BIN is the binary.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';

const cli = join(dirname(createRequire(import.meta.url).resolve('@google/gemini-cli/package.json')), 'bundle/gemini.js');
const work = mkdtempSync(join(tmpdir(), 'modec-gemini-hook-'));
const bin = join(work, 'bin');
mkdirSync(bin);
symlinkSync(process.env.MODEC_BIN, join(bin, 'modec'));
const onPath = { PATH: bin + delimiter + process.env.PATH };

const dev = {
  can: {
    default: 'allow', read: { default: 'allow', deny: ['secrets/**'], ask: ['finance/**'] },
    edit: { default: 'allow', deny: ['docs/legal/**'] }, command: { default: 'allow', deny: ['git push *'], ask: ['make *'] },
    mcp: { docs: { default: 'allow', deny: ['drop'] } },
  },
};
const writer = { can: { read: 'allow', edit: { allow: ['docs/legal/**'], default: 'deny' }, command: 'deny' } };
const mode = { name: 'Reader', roleDefinition: 'You read.', can: { read: 'allow', command: { default: 'allow' } } };
const server = `import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const tool = (name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} } });
  const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'docs', version: '1' } }
    : method === 'tools/list' ? { tools: ['get', 'drop'].map(tool) } : { content: [{ type: 'text', text: 'ran' }] };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});`;

// project lays out one, and builds it.
function project(name, change = (settings) => settings) {
  const dir = join(work, name);
  for (const d of ['modec', 'docs/legal', 'secrets', 'finance', 'src']) mkdirSync(join(dir, d), { recursive: true });
  writeFileSync(join(dir, 'secrets/key'), 'x\n');
  writeFileSync(join(dir, 'finance/q1'), 'x\n');
  writeFileSync(join(dir, 'docs/legal/terms'), 'old\n');
  writeFileSync(join(dir, 'server.mjs'), server);
  for (const [link, to] of [['link', 'docs/legal'], ['shown', 'secrets'], ['books', 'finance']]) symlinkSync(to, join(dir, link));
  writeFileSync(join(dir, 'modec.toml'), 'hooks = "enforce"\nbaseline = "dev"\n[targets.gemini]\n');
  const servers = { docs: { command: process.execPath, args: ['server.mjs'], tools: { get: {}, drop: {} } } };
  writeFileSync(join(dir, 'modec/a.json'), JSON.stringify({ servers, modes: { reader: mode }, roles: { dev, writer } }));
  spawnSync('git', ['init', '-q', '.'], { cwd: dir });
  modec(dir, 'build');
  const file = join(dir, '.gemini/settings.json');
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')))));
  return dir;
}

function modec(dir, ...args) {
  const { status, stdout, stderr } = spawnSync(process.env.MODEC_BIN, ['-C', dir, ...args], { encoding: 'utf8', env: { ...process.env, HOME: work } });
  assert.equal(status, 0, stderr);
  return stdout;
}

// alone has a session keep to itself: it looks for no update, and for nobody who counts.
const alone = { security: { auth: { selectedType: 'gemini-api-key' } }, telemetry: { enabled: false }, general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, checkForUpdates: false }, privacy: { usageStatisticsEnabled: false } };
let runs = 0;
const turn = (part) => JSON.stringify({ method: 'generateContentStream', response: [{ candidates: [{ content: { parts: [part], role: 'model' }, finishReason: 'STOP', index: 0 }] }] });

// run has a session make calls, one a turn, and returns what becomes of each: what the hook refuses, what a policy
// refuses or would ask a person about, and what runs.
async function run(dir, calls, { env = onPath, args = [] } = {}) {
  const home = join(work, `home${runs++}`), fake = join(home, 'turns.jsonl');
  mkdirSync(join(home, '.gemini'), { recursive: true });
  writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify(alone));
  writeFileSync(fake, [...calls.map(([name, input]) => turn({ functionCall: { name, args: input } })), ...Array(9).fill(turn({ text: 'done' }))].join('\n'));
  const own = { ...process.env, HOME: work, GEMINI_CLI_HOME: home, GEMINI_API_KEY: 'x', CI: '1', NO_COLOR: '1', GEMINI_CLI_NO_RELAUNCH: 'true', GEMINI_CLI_TRUST_WORKSPACE: 'true' };
  const child = spawn(process.execPath, [cli, '-p', 'hi', '-m', 'gemini-2.5-pro', '-o', 'stream-json', '--fake-responses', fake, ...args], { cwd: dir, env: { ...own, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '', err = '';
  child.stdout.on('data', (d) => { out += d; });
  child.stderr.on('data', (d) => { err += d; });
  await new Promise((done) => child.on('close', done));
  const results = out.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l)).filter((e) => e.type === 'tool_result');
  assert.equal(results.length, calls.length, out + err);
  return results.map((r) => {
    const text = JSON.stringify(r.output ?? r.error ?? '') + JSON.stringify(r.error ?? '');
    if (r.status === 'success') return 'ran';
    return text.includes('Tool execution blocked: modec') ? 'hook' : text.includes('requires user confirmation') ? 'asked' : `policy ${text}`;
  });
}

const shell = (command, more = {}) => ['run_shell_command', { command, description: 'x', ...more }];
const read = (file_path) => ['read_file', { file_path }];
const write = (file_path) => ['write_file', { file_path, content: 'x' }];
const first = (became) => became.map((b) => b.split(' ')[0]);

const dir = project('project');

test('what is denied is refused', async () => {
  const became = await run(dir, [read('src/../secrets/key'), write('docs/legal/a'), write('src/a'), shell('true'), shell('git push origin'), shell("git 'push' origin")]);
  assert.deepEqual(first(became), ['hook', 'hook', 'ran', 'ran', 'hook', 'hook']);
  assert.ok(!existsSync(join(dir, 'docs/legal/a')));
});

test('a link, a sign that Gemini CLI leaves out, and a file of the same name are no way around', async () => {
  const other = ['replace', { file_path: 'terms', instruction: 'x', old_string: 'old', new_string: 'new' }];
  const became = await run(dir, [read('shown/key'), write('link/a'), read('@secrets/key'), read('@/secrets/key'), other, ['replace', { ...other[1], file_path: 'link/terms' }]]);
  assert.deepEqual(first(became), ['hook', 'hook', 'hook', 'hook', 'hook', 'hook']);
  assert.equal(readFileSync(join(dir, 'docs/legal/terms'), 'utf8'), 'old\n');
});

test('a path in a command, a redirect and another folder', async () => {
  const became = await run(dir, [shell('cat < secrets/key'), shell('cat < shown/key'), shell('echo x > link/b'), shell('cat < key', { dir_path: 'secrets' }), shell('modec off')]);
  assert.deepEqual(first(became), ['hook', 'hook', 'hook', 'hook', 'hook']);
  assert.ok(!existsSync(join(dir, 'docs/legal/b')));
});

test('what the policies ask about passes, and what they take for something else does not', async () => {
  assert.deepEqual(first(await run(dir, [shell('make all'), read('finance/q1'), read('books/q1')])), ['asked', 'asked', 'hook']);
});

test('a search by either name', async () => {
  const grep = (dir_path, name = 'grep_search') => [name, { pattern: 'x', dir_path }];
  assert.deepEqual(first(await run(dir, [grep('src'), grep('secrets'), grep('shown', 'search_file_content')])), ['ran', 'hook', 'hook']);
});

test('a tool of a server', async () => {
  assert.deepEqual(first(await run(dir, [['mcp_docs_get', {}]])), ['ran']);
});

test('without modec every call is refused', async () => {
  const became = await run(dir, [shell('true'), read('src/a')], { env: {} });
  assert.ok(!became.some((b) => b === 'ran'), became.join());
});

test('settings that turn hooks off are read, as the model takes them', async () => {
  for (const [name, config] of Object.entries({ enabled: () => ({ enabled: false }), disabled: (line) => ({ disabled: [line] }) })) {
    const off = project(name, (s) => ({ ...s, hooksConfig: config(s.hooks.BeforeTool[0].hooks[0].command) }));
    assert.deepEqual(first(await run(off, [read('shown/key')])), ['ran'], name);
  }
});

test('a session of `modec run` has the hook of its role, and not that of the baseline', async () => {
  const of = (role) => {
    const { args, env } = JSON.parse(modec(dir, 'args', role, '--accept', '--json', '--target', 'gemini'));
    const file = join(env.find((v) => v.startsWith('GEMINI_CLI_HOME=')).slice('GEMINI_CLI_HOME='.length), '.gemini/settings.json');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...alone }));
    const variables = Object.fromEntries(env.filter((v) => v.startsWith('GEMINI_CLI_HOME=')).map((v) => [v.slice(0, v.indexOf('=')), v.slice(v.indexOf('=') + 1)]));
    return { args, env: { ...variables, ...onPath } };
  };
  assert.deepEqual(first(await run(dir, [write('link/c'), write('docs/legal/c'), write('src/c')], of('writer'))), ['hook', 'ran', 'hook']);
  assert.deepEqual(first(await run(dir, [write('link/d'), write('src/d')], of('dev'))), ['hook', 'ran']);
});
