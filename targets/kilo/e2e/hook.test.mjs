// Runs Kilo with modec's plugin, in a project with a baseline, in one without, in a session of `modec run`, and without
// modec. MODEC_BIN is the binary.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server } from '../../internal/asked/program.mjs';
import { program } from './program.mjs';

const work = mkdtempSync(join(tmpdir(), 'modec-kilo-hook-'));
const bin = join(work, 'bin');
mkdirSync(bin);
symlinkSync(process.env.MODEC_BIN, join(bin, 'modec'));
const onPath = { PATH: bin + delimiter + process.env.PATH };

const writer = { name: 'Writer', roleDefinition: 'You write.', can: { read: 'allow', edit: { allow: ['docs/**'], deny: ['docs/legal/**'] }, command: { default: 'allow', deny: ['git push *'] } } };
const dev = { can: { default: 'allow', read: { default: 'allow', deny: ['secrets/**'] }, command: { default: 'allow', deny: ['git push *', 'rm *'] }, edit: { default: 'allow', deny: ['docs/legal/**'] }, modes: 'allow', unknown: 'allow' } };

// project lays out one, and builds it.
function project(name, head, source) {
  const dir = join(work, name);
  mkdirSync(join(dir, 'modec'), { recursive: true });
  mkdirSync(join(dir, 'docs/legal'), { recursive: true });
  mkdirSync(join(dir, 'secrets'));
  writeFileSync(join(dir, 'secrets/key'), 'x\n');
  symlinkSync('docs/legal', join(dir, 'link'));
  writeFileSync(join(dir, 'modec.toml'), `hooks = "enforce"\n${head}[targets.kilo]\n`);
  writeFileSync(join(dir, 'modec/a.json'), JSON.stringify(source));
  spawnSync('git', ['init', '-q', '.'], { cwd: dir });
  modec(dir, 'build');
  return dir;
}

function modec(dir, ...args) {
  const { status, stdout, stderr } = spawnSync(process.env.MODEC_BIN, ['-C', dir, ...args], { encoding: 'utf8', env: { ...process.env, HOME: work } });
  assert.equal(status, 0, stderr);
  return stdout;
}

const bash = (command) => ['bash', { command, description: 'x' }];
const write = (dir, file) => ['write', { filePath: join(dir, file), content: 'x' }];

const together = project('together', 'baseline = "dev"\n', { modes: { writer }, roles: { dev } });
const apart = project('apart', '', { modes: { writer } });
const started = project('started', 'baseline = "dev"\n', { modes: { writer }, roles: { dev } });

let server, without, session;
before(async () => {
  const { env } = JSON.parse(modec(started, 'args', 'dev', '--accept', '--json', '--target', 'kilo'));
  const variables = Object.fromEntries(env.filter((v) => !v.endsWith('=')).map((v) => [v.slice(0, v.indexOf('=')), v.slice(v.indexOf('=') + 1)]));
  [server, without, session] = await Promise.all([Server.start(program, onPath), Server.start(program), Server.start(program, { ...variables, ...onPath })]);
});
after(() => Promise.all([server, without, session].map((s) => s.stop())));

test('what is denied is refused in every spelling', async () => {
  const calls = [bash('ls'), bash("git 'push' origin"), bash('git  push origin'), bash('r\\m x'), bash('echo x > docs/legal/a'), bash('cat < secrets/key'), bash('echo x > link/a')];
  assert.deepEqual(await server.decide(together, undefined, calls), ['allow', 'deny', 'deny', 'deny', 'deny', 'deny', 'deny']);
});

test('a link is no way around, nor is a process in the background', async () => {
  const calls = [write(together, 'src/a'), write(together, 'docs/legal/a'), write(together, 'link/a'), ['background_process', { action: 'start', command: "git 'push' origin" }]];
  assert.deepEqual(await server.decide(together, undefined, calls), ['allow', 'deny', 'deny', 'deny']);
});

test('an agent to which work is handed is held to its mode', async () => {
  const plan = Buffer.from(JSON.stringify([write(together, 'docs/sub'), bash('echo x > docs/legal/sub'), write(together, 'link/sub')])).toString('base64');
  const hand = ['task', { description: 'x', prompt: `go @@${plan}`, subagent_type: 'writer' }];
  assert.deepEqual(await server.decide(together, undefined, [hand]), ['allow']);
  assert.deepEqual([existsSync(join(together, 'docs/sub')), existsSync(join(together, 'docs/legal/sub'))], [true, false]);
  assert.deepEqual(await server.decide(together, 'writer', [bash("git 'push' origin")]), ['deny']);
});

test('without a baseline the agents of modes ask, and no other', async () => {
  assert.deepEqual(await server.decide(apart, 'writer', [bash('ls'), bash("git 'push' origin")]), ['allow', 'deny']);
  assert.notEqual((await server.decide(apart, 'code', [bash("git 'push' origin")]))[0], 'deny');
});

test('a session of `modec run` asks, whatever the project says', async () => {
  const calls = [bash('ls'), bash("git 'push' origin"), bash('echo x > docs/legal/a')];
  assert.deepEqual(await session.decide(started, undefined, calls), ['allow', 'deny', 'deny']);
});

test('without modec every call is refused', async () => {
  assert.deepEqual(await without.decide(together, undefined, [bash('ls')]), ['deny']);
});
