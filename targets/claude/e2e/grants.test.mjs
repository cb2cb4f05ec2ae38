// While a session follows a command or a skill, its allowed-tools allow as a rule of the settings does: the
// check of a project judges them so. A deny, an ask and a hook go before them, and no mode does.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { close, letter, listen, place, prompter, session, turn } from './session.mjs';

before(listen);
after(close);

const calls = [
  ...['touch a', 'mkdir b', 'rmdir c'].map((command) => ({ name: 'Bash', input: { command, description: 'x' } })),
  { name: 'Write', input: { file_path: 'ROOT/w.txt', content: 'x' } },
];
const asks = JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask' } });

const files = {
  '.claude/commands/deep/go.md': '---\nallowed-tools: Bash(touch:*), Bash(mkdir *)\ndescription: x\n---\nDo it\n',
  '.claude/skills/sk/SKILL.md': '---\nname: sk\ndescription: x\nallowed-tools:\n  - Bash(touch:*)\n  - Write\n---\nDo it\n',
};

for (const [what, prompt, settings, want] of [
  ['nothing', 'hi', {}, 'kkkk'],
  ['a command', '/deep:go', {}, 'aakk'],
  ['a skill', '/sk', {}, 'akka'],
  ['beside an ask', '/deep:go', { permissions: { ask: ['Bash(touch *)'] } }, 'kakk'],
  ['beside a deny', '/sk', { permissions: { deny: ['Write'] } }, 'akkd'],
  ['beside a hook', '/sk', { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: `echo '${asks}'` }] }] } }, 'kkka'],
  ['in dontAsk', '/sk', { permissions: { defaultMode: 'dontAsk' } }, 'adda'],
]) {
  test(`${what} decides as a rule of the settings`, async () => {
    const at = place(false);
    for (const [name, text] of Object.entries({ ...files, '.claude/settings.json': JSON.stringify(settings) })) {
      mkdirSync(dirname(join(at.root, name)), { recursive: true });
      writeFileSync(join(at.root, name), text);
    }
    assert.equal((await turn(at, calls, [], [], prompt)).join(''), want);
  });
}

// A skill of another folder is there once the session has read a file in that, and a command is not.
for (const [what, file, name, want] of [
  ['a skill', 'sub/.claude/skills/sk/SKILL.md', 'sk', 'aaakka'],
  ['a command', 'sub/.claude/commands/go.md', 'go', 'aakkkk'],
]) {
  test(`${what} of another folder`, async () => {
    const at = place(false);
    for (const [name, text] of Object.entries({ [file]: files['.claude/skills/sk/SKILL.md'], 'sub/f.txt': 'x', '.claude/settings.json': '{}' })) {
      mkdirSync(dirname(join(at.root, name)), { recursive: true });
      writeFileSync(join(at.root, name), text);
    }
    const steps = [[{ name: 'Read', input: { file_path: 'ROOT/sub/f.txt' } }], [{ name: 'Skill', input: { skill: name } }], calls];
    const { results, log } = await session(at, steps, ['--strict-mcp-config', ...prompter(), '--allowedTools=Skill']);
    assert.equal(results.map((r) => letter(r, log)).join(''), want);
  });
}
