// What of an entry of a hook, and of the settings around it, keeps the hook from holding a call: the decider of
// `modec verify` takes an entry for modec's only where all of it is known to hold. The hook refuses every call; k is
// a call that it let pass. A rule refuses mkdir as well, so that a file that did not load is told from a hook that
// did not run.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { close, listen, place, scratch, turn } from './session.mjs';

before(listen);
after(close);

const calls = [
  { name: 'Bash', input: { command: 'touch a', description: 'x' } },
  { name: 'Write', input: { file_path: 'ROOT/w.txt', content: 'x' } },
  { name: 'Bash', input: { command: 'mkdir b', description: 'x' } },
];
const refuses = JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'modec: no' } });
const line = `sleep 0.2; echo '${refuses}'`;
const prefix = join(scratch, 'prefix.sh');

const holds = 'ddd', passes = 'kkd', unloaded = 'kkk';
const entry = (more) => ({ type: 'command', command: line, timeout: 10, ...more });
const group = (more, hook) => ({ matcher: '*', hooks: [entry(hook)], ...more });
const hooks = (...groups) => ({ hooks: { PreToolUse: groups } });
const event = (name, value) => ({ hooks: { PreToolUse: [group()], [name]: value } });

const asked = []; // what, the letters of its calls, the settings
for (const [want, list] of [
  [holds, [
    {}, { timeout: 600 }, { timeout: 1e300 }, { statusMessage: 'x' }, { onFailure: 'block' }, { onFailure: 'continue' },
    { async: false }, { asyncRewake: false }, { once: false }, { shell: 'bash' }, { later: 1 },
  ]],
  [passes, [
    { timeout: 0.001 }, { async: true }, { if: 'Bash(git *)' }, { if: '*' }, { if: 'Bash(' }, { shell: 'powershell' }, { args: [] },
  ]],
  [unloaded, [
    { timeout: 0 }, { timeout: '10' }, { timeout: null }, { async: 'true' }, { if: 1 }, { shell: 'zsh' }, { args: 'x' }, { onFailure: 'x' },
    { statusMessage: 1 }, { rewakeMessage: '' }, { type: 'x' }, { type: undefined },
  ]],
]) {
  for (const more of list) asked.push([`an entry with ${JSON.stringify(more)}`, want, hooks(group({}, more))]);
}
for (const [want, list] of [
  [holds, [{ matcher: undefined }, { matcher: '' }, { matcher: 'Bash|Write' }, { matcher: '.*' }, { later: 1 }]],
  ['dkd', [{ matcher: 'Bash' }]],
  [passes, [{ matcher: 'bash' }, { matcher: '(' }, { matcher: '**' }]],
  [unloaded, [{ matcher: 1 }, { matcher: null }, { hooks: undefined }]],
]) {
  for (const more of list) asked.push([`a group with ${JSON.stringify(more)}`, want, hooks(group(more))]);
}
const yes = (name, answer) => ({ hooks: { [name]: [group({}, { command: `echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: name, ...answer } })}'` })] } });
const disabled = (v) => ({ ...hooks(group()), disableAllHooks: v });
const env = (name, v) => ({ ...hooks(group()), env: { [name]: v } });
asked.push(
  ['a malformed entry beside a good one', unloaded, hooks(group(), group({}, { timeout: 0 }))],
  ['hooks in a list', unloaded, { hooks: [group()] }],
  ['hooks that are null', passes, { hooks: null }],
  ['an event that is no list', unloaded, { hooks: { PreToolUse: group() } }],
  ['a malformed entry of PermissionRequest', unloaded, event('PermissionRequest', [group({}, { timeout: 0 })])],
  ['a malformed entry of another event', holds, event('PostToolUse', [group({}, { timeout: 0 })])],
  ['an event that nobody knows', holds, event('Later', 1)],
  ['a hook beside the hooks', unloaded, { ...hooks(group()), later: { PreToolUse: [group()] } }],
  ['disableAllHooks', passes, disabled(true)],
  ['disableAllHooks that is a text', unloaded, disabled('true')],
  ['disableAllHooks that is null', unloaded, disabled(null)],
  ['a model that is a number', unloaded, { ...hooks(group()), model: 1 }],
  ['a rule that is a number', holds, { ...hooks(group()), permissions: { deny: ['Bash(mkdir *)'], allow: [1] } }],
  ['rules that are null', unloaded, { ...hooks(group()), permissions: { deny: ['Bash(mkdir *)'], allow: null } }],
  ['a key that nobody knows', holds, { ...hooks(group()), later: 1 }],
  ['a hook that allows', 'aad', yes('PreToolUse', { permissionDecision: 'allow' })],
  ['a hook that allows beside a rule that asks', 'kak', { ...yes('PreToolUse', { permissionDecision: 'allow' }), permissions: { ask: ['Bash'] } }],
  ['a hook in the place of a person, who is not there with -p', passes, yes('PermissionRequest', { decision: { behavior: 'allow' } })],
  ['the path of the settings is that of the hook', passes, { ...hooks(group({}, { command: `ls && { ${line}; }` })), env: { PATH: '/nowhere' } }],
  ['a shell before each command', passes, env('CLAUDE_CODE_SHELL_PREFIX', prefix)],
);

test('an entry holds, lets calls pass or keeps its file from loading', { concurrency: 3 }, async (t) => {
  await Promise.all(asked.map(([what, want, settings]) => t.test(what, async () => assert.equal(await letters(settings), want))));
});

async function letters(settings) {
  const at = place(false);
  writeFileSync(prefix, '#!/bin/sh\ncase "$*" in *permissionDecision*) exit 0;; esac\nexec sh -c "$*"\n');
  chmodSync(prefix, 0o755);
  const file = join(at.root, '.claude/settings.json');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ permissions: { deny: ['Bash(mkdir *)'] }, ...settings }));
  return (await turn(at, calls, [], [])).join('');
}
