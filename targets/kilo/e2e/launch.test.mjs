// Starts Kilo by the variables that `modec run` sets, in a project whose files would loosen the role, and asks the
// program what its agents may do. MODEC_BIN is the binary.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Server } from '../../internal/asked/program.mjs';
import { program } from './program.mjs';

const work = mkdtempSync(join(tmpdir(), 'modec-kilo-launch-'));
let project, server;
const put = (file, text) => {
  mkdirSync(join(project, file, '..'), { recursive: true });
  writeFileSync(join(project, file), typeof text === 'string' ? text : JSON.stringify(text));
};
const run = (...args) => spawnSync(process.env.MODEC_BIN, ['-C', project, ...args], { encoding: 'utf8', env: { ...process.env, HOME: work } });
const modec = (...args) => {
  const { status, stdout, stderr } = run(...args);
  assert.equal(status, 0, stderr);
  return stdout;
};

// Each test has a project of its own, and starts Kilo when it has laid out its files.
beforeEach(() => {
  project = mkdtempSync(join(work, 'project-'));
  put('modec.toml', 'baseline = "dev"\n[targets.kilo]\n');
  put('modec/a.json', {
    modes: { writer: { name: 'Writer', roleDefinition: 'You write.', can: { read: 'allow', edit: { allow: ['docs/**'] } } } },
    roles: { dev: { can: { default: 'deny', read: 'allow', command: { allow: ['git status'] }, edit: { allow: ['docs/**'], deny: ['docs/legal/'] }, modes: { allow: ['writer'] } } } },
  });
  modec('build');
  spawnSync('git', ['init', '-q', '.'], { cwd: project });
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

const variables = () => {
  const { env } = JSON.parse(modec('args', 'dev', '--accept', '--json', '--target', 'kilo'));
  return Object.fromEntries(env.filter((v) => !v.endsWith('=')).map((v) => [v.slice(0, v.indexOf('=')), v.slice(v.indexOf('=') + 1)]));
};
const calls = () => [
  ['read', { filePath: join(project, 'modec.toml') }], ['write', { filePath: join(project, 'docs/a.md'), content: 'x' }],
  ['write', { filePath: join(project, 'docs/legal/a.md'), content: 'x' }], ['write', { filePath: join(project, 'src/a'), content: 'x' }],
  ['bash', { command: 'git status', description: 'x' }], ['bash', { command: 'git log', description: 'x' }],
];
const held = ['allow', 'allow', 'deny', 'deny', 'allow', 'deny'];

// A mode of the extension before, whose rules would stand in front of those of the agent of the same name.
const old = 'customModes:\n  - slug: dev\n    name: D\n    roleDefinition: x\n    groups:\n      - "*"\n      - - edit\n        - fileRegex: "docs/legal/*"\n';

test('what every session reads holds the baseline', async () => {
  server = await Server.start(program);
  assert.equal((await server.call('GET', '/config', project)).default_agent, 'dev');
  assert.deepEqual(await server.decide(project, undefined, calls()), held);
});

test('without the file of the agents, all is denied', async () => {
  put('.kilo/kilo.json', { permission: 'maybe' });
  server = await Server.start(program);
  assert.deepEqual(await server.decide(project, 'code', calls()), held.map(() => 'deny'));
});

test('the files of the project say nothing', async () => {
  const env = variables();
  // What the project has beside: the same agents with what they deny in front, and all that Kilo has.
  const loose = { permission: { edit: { 'docs/legal/*': 'allow', '*': 'allow' }, bash: 'allow', '*': 'allow' } };
  put('kilo.json', { permission: 'allow', agent: { dev: loose, writer: loose, code: loose, own: loose } });
  put('.kilo/kilo.json', { agent: { dev: loose, code: { disable: false } }, default_agent: 'own' });
  put('.kilo/agent/dev.md', '---\npermission:\n  bash: allow\n---\nx');
  server = await Server.start(program, env);
  const agents = await server.call('GET', '/agent', project);
  const names = agents.filter((a) => !a.hidden).map((a) => a.name).sort();
  assert.deepEqual(names, ['dev', 'writer']);
  assert.equal((await server.call('GET', '/config', project)).default_agent, 'dev');
  assert.deepEqual(await server.decide(project, undefined, calls()), held);
  assert.deepEqual(await server.decide(project, 'writer', calls()), ['allow', 'allow', 'deny', 'deny', 'deny', 'deny']);
});

test('Kilo joins a mode of the extension before, and no session is started beside it', async () => {
  const env = variables();
  put('.kilocodemodes', old);
  const { status, stderr } = run('args', 'dev', '--accept', '--target', 'kilo');
  assert.equal(status, 1);
  assert.match(stderr, /Kilo would join the mode dev with what role dev may do/);
  server = await Server.start(program, env);
  assert.equal((await server.decide(project, undefined, calls()))[2], 'allow'); // docs/legal/a.md
});
