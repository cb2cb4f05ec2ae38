// What additionalDirectories of the settings opens: the decider of `modec verify` takes a folder there for one of the
// project's own.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { close, listen, place, turn } from './session.mjs';

before(listen);
after(close);

const bash = (command) => ({ name: 'Bash', input: { command, description: 'x' } });
const calls = (beside) => [
  { name: 'Read', input: { file_path: `${beside}/other/a.txt` } },
  { name: 'Write', input: { file_path: `${beside}/other/w.txt`, content: 'x' } },
  bash(`cat ${beside}/other/a.txt`), bash(`touch ${beside}/other/t`), bash(`ls > ${beside}/other/l`),
  { name: 'Write', input: { file_path: `${beside}/other/.git/w`, content: 'x' } },
  { name: 'Read', input: { file_path: `${beside}/third/a.txt` } },
];

for (const [what, permissions, want] of [
  ['nothing', {}, 'kkkkkkk'],
  ['nothing in acceptEdits', { defaultMode: 'acceptEdits' }, 'kkkkkkk'],
  ['nothing in plan', { defaultMode: 'plan', disableAutoMode: 'disable' }, 'kkkkkkk'],
  ['nothing in plan, which answers by itself', { defaultMode: 'plan' }, 'akcccca'],
  ['a folder', { additionalDirectories: ['BESIDE/other'] }, 'akakkkk'],
  ['a folder by its relative path', { additionalDirectories: ['../other'] }, 'akakkkk'],
  ['a folder in acceptEdits', { defaultMode: 'acceptEdits', additionalDirectories: ['../other'] }, 'aaaaakk'],
  ['a folder in plan', { defaultMode: 'plan', disableAutoMode: 'disable', additionalDirectories: ['../other'] }, 'akakkkk'],
  ['a folder beside rules', { allow: ['Edit(*.txt)', 'Bash(touch *)'], deny: ['Read(a.txt)'], additionalDirectories: ['../other'] }, 'dkdakkk'],
  ['a folder beside a rule for the project', { allow: ['Edit(/**)'], ask: ['Read(/**)'], additionalDirectories: ['../other'] }, 'akakkkk'],
]) {
  test(what, async () => {
    const at = place(true);
    for (const [name, text] of Object.entries({ '../other/a.txt': 'x', '../third/a.txt': 'x', '.claude/settings.json': JSON.stringify({ permissions }).replaceAll('BESIDE', dirname(at.root)) })) {
      mkdirSync(dirname(join(at.root, name)), { recursive: true });
      writeFileSync(join(at.root, name), text);
    }
    assert.equal((await turn(at, calls(dirname(at.root)), [], [])).join(''), want);
  });
}
