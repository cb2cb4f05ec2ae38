// Runs Kilo in a project that opencode works in, too, where both had permissions of their own before modec: what
// opencode.json says of a mode does not hold in Kilo. MODEC_BIN is the binary.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Server } from '../../internal/asked/program.mjs';
import { program } from './program.mjs';

const work = mkdtempSync(join(tmpdir(), 'modec-kilo-beside-'));
const project = join(work, 'project');
const put = (file, text) => {
  mkdirSync(join(project, file, '..'), { recursive: true });
  writeFileSync(join(project, file), typeof text === 'string' ? text : JSON.stringify(text));
};
const modec = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.env.MODEC_BIN, ['-C', project, ...args], { encoding: 'utf8', env: { ...process.env, HOME: work, XDG_STATE_HOME: join(work, 'state') } });
  assert.equal(status, 0, stdout + stderr);
};

put('opencode.json', { permission: { bash: { '*': 'allow', 'git push *': 'deny' }, edit: { '*': 'deny', 'docs/*': 'allow' }, webfetch: 'allow' } });
put('.kilo/kilo.json', { permission: { bash: { '*': 'ask', 'git log *': 'allow' }, edit: { '*': 'ask', 'src/*': 'allow' }, webfetch: 'deny' } });
const planner = { name: 'Planner', roleDefinition: 'You plan.', can: { read: 'allow', edit: { allow: ['docs/**'], default: 'deny' }, command: { allow: ['git log *', 'make'], default: 'deny' }, web: 'allow' } };

let server;
before(async () => {
  spawnSync('git', ['init', '-q', '.'], { cwd: project });
  modec('migrate');
  put('modec/modes/planner.json', { modes: { planner } });
  modec('build');
  modec('build', '--check');
  modec('verify');
  server = await Server.start(program);
});
after(() => server.stop());

test('a mode of both is what Kilo may do in it', async () => {
  const write = (file) => ['write', { filePath: join(project, file), content: 'x' }];
  const bash = (command) => ['bash', { command, description: 'x' }];
  const calls = [write('docs/a'), write('src/a'), bash('git log -1'), bash('git push x'), bash('make'), ['webfetch', { url: 'http://127.0.0.1:1/', format: 'text' }]];
  assert.deepEqual(await server.decide(project, 'planner', calls), ['ask', 'deny', 'ask', 'deny', 'ask', 'deny']);
});
