// Runs opencode with modec's plugin, in a project with a baseline, in one without, in a session of `modec run`, and
// without modec. MODEC_BIN is the binary.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { installed, Server } from '../../internal/asked/program.mjs';
import { program } from './program.mjs';

const work = mkdtempSync(join(tmpdir(), 'modec-opencode-hook-'));
const bin = join(work, 'bin');
mkdirSync(bin);
symlinkSync(process.env.MODEC_BIN, join(bin, 'modec'));
const onPath = { PATH: bin + delimiter + process.env.PATH };

const writer = { name: 'Writer', roleDefinition: 'You write.', can: { read: 'allow', edit: { allow: ['docs/**'], deny: ['docs/legal/**'] }, command: { default: 'allow', deny: ['git push *'] } } };
const dev = { can: { default: 'allow', read: { default: 'allow', deny: ['secrets/**'] }, command: { default: 'allow', deny: ['git push *', 'rm *'] }, edit: { default: 'allow', deny: ['docs/legal/**'] }, modes: 'allow' } };

// project lays out one, and builds it.
function project(name, head, source) {
  const dir = join(work, name);
  mkdirSync(join(dir, 'modec'), { recursive: true });
  mkdirSync(join(dir, 'docs/legal'), { recursive: true });
  mkdirSync(join(dir, 'secrets'));
  writeFileSync(join(dir, 'secrets/key'), 'x\n');
  symlinkSync('docs/legal', join(dir, 'link'));
  writeFileSync(join(dir, 'modec.toml'), `hooks = "enforce"\n${head}[targets.opencode]\n`);
  writeFileSync(join(dir, 'modec/a.json'), JSON.stringify(source));
  spawnSync('git', ['init', '-q', '.'], { cwd: dir });
  modec(dir, 'build');
  installed(program, join(dir, '.opencode'));
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
  const { env } = JSON.parse(modec(started, 'args', 'dev', '--accept', '--json', '--target', 'opencode'));
  const variables = Object.fromEntries(env.filter((v) => !v.endsWith('=')).map((v) => [v.slice(0, v.indexOf('=')), v.slice(v.indexOf('=') + 1)]));
  [server, without, session] = await Promise.all([Server.start(program, onPath), Server.start(program), Server.start(program, { ...variables, ...onPath })]);
});
after(() => Promise.all([server, without, session].map((s) => s.stop())));

const spelled = [bash('ls'), bash("git 'push' origin"), bash('git  push origin'), bash('r\\m x'), bash('echo x > docs/legal/a'), bash('echo x > link/a')];

test('what is denied is refused in every spelling', async () => {
  const calls = [...spelled, write(together, 'src/a'), write(together, 'docs/legal/a'), write(together, 'link/a')];
  assert.deepEqual(await server.decide(together, 'build', calls), ['allow', 'deny', 'deny', 'deny', 'deny', 'deny', 'allow', 'deny', 'deny']);
});

test('an agent is held to its mode, too', async () => {
  const calls = [bash('ls'), bash("git 'push' origin"), write(together, 'docs/a'), write(together, 'src/a')];
  assert.deepEqual(await server.decide(together, 'writer', calls), ['allow', 'deny', 'allow', 'deny']);
});

test('without a baseline the agents of modes ask, and no other', async () => {
  assert.deepEqual(await server.decide(apart, 'writer', [bash('ls'), bash("git 'push' origin")]), ['allow', 'deny']);
  assert.deepEqual(await server.decide(apart, 'build', [bash("git 'push' origin")]), ['allow']);
});

test('a session of `modec run` asks, whatever the project says', async () => {
  assert.deepEqual(await session.decide(started, undefined, spelled.slice(0, 4)), ['allow', 'deny', 'deny', 'deny']);
});

test('no file is put into what a subagent is told', async () => {
  const told = (file) => ['task', { description: 'x', prompt: `look at @${file}`, subagent_type: 'general' }];
  assert.deepEqual(await server.decide(together, 'build', [told('secrets/key')]), ['deny']);
});

test('without modec every call is refused', async () => {
  assert.deepEqual(await without.decide(together, 'build', [bash('ls')]), ['deny']);
});
