// Holds the emitted files against Cursor's documented shapes, and runs the
// emitted hook commands with its documented payloads. MODEC_OUT is a build of
// the showcase project, MODEC_BIN the binary.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'jsonc-parser';
import picomatch from 'picomatch';

const { MODEC_OUT: acme, MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
const profiles = readdirSync(join(acme, 'session:cursor'));
const text = (...p) => readFileSync(join(acme, ...p), 'utf8');
// A subject has no lists for what it leaves to Cursor.
const lists = (p) => (existsSync(join(acme, 'session:cursor', p, 'permissions.json')) ? text('session:cursor', p, 'permissions.json') : '{}');

test('the allowlist is JSONC with known keys and the safe grammar', () => {
  assert.ok(profiles.some((p) => lists(p) !== '{}'));
  for (const p of profiles) {
    const errors = [];
    const data = parse(lists(p), errors, { allowTrailingComma: false });
    assert.deepEqual(errors, []);
    const { approvalMode, mcpAllowlist = [], terminalAllowlist, ...rest } = data;
    assert.deepEqual(rest, {});
    assert.equal(approvalMode, data.mcpAllowlist || terminalAllowlist ? 'allowlist' : undefined);
    for (const entry of mcpAllowlist) assert.match(entry, /^[^:*]+:[^:*]+$|^[^:*]+:\*$|^\*:[^:*]+$|^\*:\*$/);
    assert.equal(new Set(mcpAllowlist.map((e) => e.toLowerCase())).size, mcpAllowlist.length);
  }
});

// explain returns what the source means to Cursor. Cursor asks about what is left to it, or is
// told by the role's permissionMode.
function explain(subject, action, arg) {
  const r = spawnSync(modec, ['explain', '-C', fixture, subject, action, arg, '--json'], { encoding: 'utf8' });
  const { decision, rule } = JSON.parse(r.stdout);
  if (decision !== 'agent') return decision;
  return rule.includes('dontAsk') ? 'deny' : rule.includes('bypassPermissions') ? 'allow' : 'ask';
}

// The engine's matching of an entry: both sides without case, each segment a
// picomatch glob.
function matches(entry, server, tool) {
  const i = entry.indexOf(':');
  const segment = (glob, name) => glob === '*' || picomatch.isMatch(name, glob);
  return segment(entry.slice(0, i).toLowerCase(), server.toLowerCase()) && segment(entry.slice(i + 1).toLowerCase(), tool.toLowerCase());
}

test('what the lists approve and deny is what the source says, tool by tool', () => {
  const { servers } = JSON.parse(text('modec.model.json'));
  for (const p of profiles) {
    const { mcpAllowlist = [] } = parse(lists(p));
    const { permissions } = JSON.parse(text(p === 'developer' ? '.cursor' : `session:cursor/${p}`, 'cli.json'));
    assert.deepEqual(Object.keys(permissions), ['allow', 'deny']);
    const mcp = (list) => list.filter((t) => t.startsWith('Mcp(')).map((t) => t.slice(4, -1));
    for (const s of servers) {
      for (const t of s.tools) {
        const want = explain(`role:${decodeURIComponent(p)}`, 'mcp', `${s.name}:${t.name}`);
        const hit = (list) => list.some((e) => matches(e, s.name, t.name));
        assert.equal(hit(mcpAllowlist), want === 'allow', `${p} ${s.name}:${t.name} permissions.json`);
        const cli = hit(mcp(permissions.deny)) ? 'deny' : hit(mcp(permissions.allow)) ? 'allow' : 'ask';
        assert.equal(cli, want, `${p} ${s.name}:${t.name} cli.json`);
      }
    }
  }
});

const events = ['beforeMCPExecution', 'beforeReadFile', 'beforeShellExecution', 'beforeTabFileRead', 'preToolUse', 'subagentStart'];

test('hooks are there for every event that can refuse', () => {
  const { version, hooks } = JSON.parse(text('.cursor/hooks.json'));
  assert.equal(version, 1);
  assert.deepEqual(Object.keys(hooks).sort(), events);
  for (const [entry] of Object.values(hooks)) {
    assert.equal(entry.failClosed, undefined); // a teammate without modec can work
    assert.equal(entry.matcher, undefined);
  }
});

// run executes the emitted command as Cursor does: a shell in the project's
// folder, the payload on standard input.
function run(event, payload, path = `${dirname(modec)}:${process.env.PATH}`) {
  const { hooks } = JSON.parse(text('.cursor/hooks.json'));
  const r = spawnSync('/bin/sh', ['-c', hooks[event][0].command], { cwd: acme, env: { PATH: path }, input: typeof payload === 'string' ? payload : JSON.stringify({ hook_event_name: event, workspace_roots: [acme], cursor_version: '3.20.17', ...payload }), encoding: 'utf8' });
  return r.status === 0 ? (JSON.parse(r.stdout).permission ?? 'abstain') : `exit ${r.status}`;
}

test('hooks answer documented payloads as the source says', () => {
  const shell = (command) => run('beforeShellExecution', { command, cwd: acme, sandbox: false });
  assert.equal(shell('git status'), 'abstain'); // allowed: a hook of the repository does not approve
  assert.equal(shell('git push --force origin main'), 'deny');
  assert.equal(shell('git push origin main'), 'ask');
  assert.equal(shell('echo $(sudo id)'), 'deny');
  const mcp = (mcp_server_name, tool_name) => run('beforeMCPExecution', { mcp_server_name, tool_name, tool_input: '{}' });
  assert.equal(mcp('github', 'list_issues'), 'abstain');
  assert.equal(mcp('user-github', 'delete_branch'), 'deny');
  assert.equal(mcp('project-0-acme-shop', 'refund_order'), 'deny');
  assert.equal(mcp('admin', 'list_users'), 'deny');
  assert.equal(run('beforeMCPExecution', { tool_name: 'x', tool_input: '{}' }), 'deny');
  assert.equal(run('beforeReadFile', { file_path: join(acme, '.env'), content: '' }), 'deny');
  assert.equal(run('beforeReadFile', { file_path: join(acme, '.roomodes'), content: '' }), 'abstain');
  assert.equal(run('preToolUse', { tool_name: 'Write', tool_input: { file_path: join(acme, 'db/migrations/applied/1.sql') }, cwd: acme }), 'deny');
  assert.equal(run('preToolUse', { tool_name: 'Shell', tool_input: { command: 'rm -rf /' }, cwd: acme }), 'abstain'); // beforeShellExecution decides
});

test('a hook that cannot decide refuses', () => {
  for (const payload of ['', '{', '[]', '{"hook_event_name":"stop"}', '{"hook_event_name":"beforeShellExecution"}']) {
    assert.notEqual(run('beforeShellExecution', payload), 'abstain', payload);
    assert.match(run('beforeShellExecution', payload), /^(exit 2|deny)$/, payload);
  }
  // Where modec is missing, the events that can ask do; the others fail, and Cursor goes on.
  assert.equal(run('beforeShellExecution', { command: 'ls', cwd: acme }, '/nonexistent'), 'ask');
  assert.equal(run('beforeReadFile', { file_path: join(acme, 'README.md'), content: '' }, '/nonexistent'), 'exit 127');
});
