// What the arguments of `modec run` hold in the real Codex beside the calls of decide.test.mjs: a project that loosens
// itself, agents to which a session hands work, a session in which nobody is asked, and a hook that is missing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, project, work } from './project.mjs';
import { headless, session } from './session.mjs';

const shell = (command) => ['Bash', { command }];
const patch = (file) => ['apply_patch', { command: `*** Begin Patch\n*** Add File: ${file}\n+x\n*** End Patch\n` }];

test('a project that its user trusts does not loosen a role', async () => {
  const { at, args } = project('loose');
  const given = args('developer');
  writeFileSync(join(at, '.codex/config.toml'), 'sandbox_mode = "danger-full-access"\napproval_policy = "never"\n[features]\nhooks = false\n');
  mkdirSync(join(at, '.codex/rules'));
  writeFileSync(join(at, '.codex/rules/a.rules'), 'prefix_rule(pattern=["touch"], decision="allow")\n');
  const calls = [shell('touch ../outside'), shell('git push'), patch('infra/a.tf'), shell('git push --force origin')];
  const config = `[projects."${at}"]\ntrust_level = "trusted"`;
  const { became, outputs } = await session({ at, bin, home: join(work, 'loose-home'), args: given, calls, config });
  assert.deepEqual(became, ['ask', 'ask', 'ask', 'deny'], JSON.stringify(outputs));
  assert.ok(!existsSync(join(at, '../outside')));
  // Without the arguments the same project does what it likes.
  const free = await session({ at, bin, home: join(work, 'free-home'), args: [], calls: calls.slice(1, 3), config });
  assert.deepEqual(free.became, ['allow', 'allow']);
});

test('an agent does what the role in its mode may', async () => {
  const { at, args } = project('agent');
  const mark = 'How to write the docs'; // of the mode docs-writer
  const agents = { [mark]: [patch('src/a.ts'), patch('docs/a.md'), shell('git push --force origin'), shell('git push'), ['mcp__github__create_issue', {}]] };
  const calls = [['spawn_agent', { agent_type: 'docs-writer', message: 'Write.' }], patch('src/b.ts')];
  const { became, outputs, asks, agents: of } = await session({ at, bin, home: join(work, 'agent-home'), args: args('developer'), calls, agents });
  assert.deepEqual(became, ['allow', 'allow'], JSON.stringify(outputs));
  const said = Object.values(of[mark].outputs);
  const refused = /blocked by PreToolUse hook: modec: role developer in mode docs-writer (may not do this|has to ask first)/;
  for (const [i, want] of [refused, /Success/, refused, /rejected by user/, refused].entries()) assert.match(said[i], want, JSON.stringify(said));
  assert.equal(asks.length, 1);
});

test('an agent whose name no slug has is held as its mode', async () => {
  const { at, args } = project('named', { 'modec/named.cue': 'package modec\n\nmodes: "docs-writer": agents: codex: settings: {name: "docs_writer", file: "w.toml"}\n' });
  const mark = 'How to write the docs';
  const agents = { [mark]: [patch('src/a.ts'), patch('docs/a.md'), shell('git push --force origin')] };
  const calls = ['docs_writer', ' docs_writer ', 'docs-writer'].map((agent_type) => ['spawn_agent', { agent_type, message: 'Write.' }]);
  for (const [n, call] of calls.entries()) {
    const { outputs, agents: of } = await session({ at, bin, home: join(work, `named-home-${n}`), args: args('developer'), calls: [call], agents: n < 2 ? agents : {} });
    if (n === 2) {
      assert.match(outputs[0], /unknown agent_type/);
      continue;
    }
    const said = Object.values(of[mark].outputs);
    const refused = /blocked by PreToolUse hook: modec: role developer in mode docs-writer (may not do this|has to ask first)/;
    for (const [i, want] of [refused, /Success/, refused].entries()) assert.match(said[i], want, JSON.stringify(said));
  }
});

// A folder of one's own in the place of /etc needs Linux, and namespaces that are open to everybody.
const mounts = spawnSync('unshare', ['-rm', 'mount', '--bind', work, '/etc']).status === 0;

test('what an administrator requires takes nothing from a role, and holds whoever starts Codex himself', { skip: !mounts }, async () => {
  const toml = readFileSync(join(process.env.MODEC_FIXTURE, 'modec.toml'), 'utf8');
  const { at, args } = project('admin', { 'modec.toml': toml.replace('[targets.codex]\n', '[targets.codex]\nrequirements = true\n') });
  const etc = join(work, 'etc');
  mkdirSync(join(etc, 'codex'), { recursive: true });
  for (const file of ['passwd', 'group', 'hosts', 'nsswitch.conf', 'resolv.conf']) existsSync(`/etc/${file}`) && cpSync(`/etc/${file}`, join(etc, file), { dereference: true });
  cpSync(join(at, '.codex/requirements.toml'), join(etc, 'codex/requirements.toml'));
  const calls = [shell('git status'), shell('git push'), shell('git push --force origin'), patch('src/a.ts'), patch('infra/a.tf'), ['web_search', {}]];
  const held = await session({ at, bin, home: join(work, 'admin-home'), args: args('developer'), calls, etc });
  assert.deepEqual(held.became, ['allow', 'ask', 'deny', 'allow', 'ask', 'deny'], JSON.stringify(held.outputs));
  assert.doesNotMatch(JSON.stringify(held.warnings), /disallowed by requirements/);
  const free = ['-c', 'approval_policy="never"', '-c', 'web_search="live"', '-c', 'features.hooks=false'];
  const mine = await session({ at, bin, home: join(work, 'mine-home'), args: free, calls, etc });
  assert.deepEqual(mine.became, ['ask', 'ask', 'ask', 'ask', 'ask', 'deny'], JSON.stringify(mine.outputs));
  assert.match(JSON.stringify(mine.warnings), /`approval_policy` is disallowed by requirements; falling back to required value UnlessTrusted/);
  const yolo = await session({ at, bin, home: join(work, 'yolo-home'), args: ['--dangerously-bypass-approvals-and-sandbox'], calls: [shell('touch ../outside')], etc });
  assert.deepEqual(yolo.became, ['ask']);
});

test('codex exec refuses what has to be asked about', async () => {
  const { at, args } = project('exec');
  const calls = [shell('git status'), shell('git push'), patch('infra/a.tf'), patch('src/a.ts')];
  const outputs = await headless({ at, bin, home: join(work, 'exec-home'), args: args('developer'), calls });
  assert.match(outputs[0], /exited with code/);
  assert.match(outputs[1], /blocked by PreToolUse hook: modec: role developer has to ask first/);
  assert.match(outputs[2], /blocked by PreToolUse hook: modec: role developer has to ask first/);
  assert.match(outputs[3], /Success/);
});

test('without modec every call is refused', async () => {
  const { at, args } = project('missing');
  const calls = [shell('git status'), patch('src/a.ts'), ['view_image', { path: 'a.png' }]];
  const { became, outputs } = await session({ at, bin: join(work, 'nothing'), home: join(work, 'missing-home'), args: args('developer'), calls });
  assert.deepEqual(became, ['deny', 'deny', 'deny']);
  for (const o of outputs) assert.match(o, /modec did not decide: the call is refused/);
});
