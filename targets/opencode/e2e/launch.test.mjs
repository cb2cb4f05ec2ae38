// Starts opencode by the variables that `modec run` sets, in a project whose files would loosen the role, and asks
// the program which rules its agents have. MODEC_BIN is the binary.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server } from '../../internal/asked/program.mjs';
import { program } from './program.mjs';

const work = mkdtempSync(join(tmpdir(), 'modec-opencode-launch-'));
const project = join(work, 'project');
const put = (file, text) => {
  mkdirSync(join(project, file, '..'), { recursive: true });
  writeFileSync(join(project, file), typeof text === 'string' ? text : JSON.stringify(text));
};

put('modec.toml', '[targets.opencode]\n');
put('modec/a.json', {
  modes: { writer: { name: 'Writer', roleDefinition: 'You write.', can: { read: 'allow', edit: { allow: ['docs/**'] } } } },
  roles: { dev: { can: { default: 'deny', read: 'allow', command: { allow: ['git status'] }, edit: { allow: ['docs/**'], deny: ['docs/legal/'] }, modes: { allow: ['writer'] } } } },
});

const modec = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.env.MODEC_BIN, ['-C', project, ...args], { encoding: 'utf8', env: { ...process.env, HOME: work } });
  assert.equal(status, 0, stderr);
  return stdout;
};

let server;
before(async () => {
  modec('build');
  const { env } = JSON.parse(modec('args', 'dev', '--accept', '--json', '--target', 'opencode'));
  // What the project has beside: the same agents with what they deny in front, all that opencode has, and a plugin.
  const loose = { permission: { edit: { 'docs/legal/*': 'allow', '*': 'allow' }, bash: 'allow', '*': 'allow' } };
  put('opencode.json', { permission: 'allow', agent: { dev: loose, writer: loose, build: loose, own: loose } });
  put('.opencode/opencode.json', { agent: { dev: loose, build: { disable: false } }, default_agent: 'own' });
  put('.opencode/agent/dev.md', '---\npermission:\n  bash: allow\n---\nx');
  spawnSync('git', ['init', '-q', '.'], { cwd: project });
  server = await Server.start(program, Object.fromEntries(env.filter((v) => !v.endsWith('=')).map((v) => [v.slice(0, v.indexOf('=')), v.slice(v.indexOf('=') + 1)])));
});
after(() => server.stop());

test('the files of the project say nothing', async () => {
  const agents = await server.call('GET', '/agent', project);
  const names = agents.filter((a) => !a.hidden).map((a) => a.name).sort();
  assert.deepEqual(names, ['dev', 'writer']);
  assert.equal((await server.call('GET', '/config', project)).default_agent, 'dev');
});

test('the role is held, and the role in a mode', async () => {
  const calls = [
    ['read', { filePath: join(project, 'modec.toml') }], ['write', { filePath: join(project, 'docs/a.md'), content: 'x' }],
    ['write', { filePath: join(project, 'docs/legal/a.md'), content: 'x' }], ['write', { filePath: join(project, 'src/a'), content: 'x' }],
    ['bash', { command: 'git status', description: 'x' }], ['bash', { command: 'git log', description: 'x' }],
  ];
  assert.deepEqual(await server.decide(project, undefined, calls), ['allow', 'allow', 'deny', 'deny', 'allow', 'deny']);
  assert.deepEqual(await server.decide(project, 'writer', calls), ['allow', 'allow', 'deny', 'deny', 'deny', 'deny']);
});
