// Asks VS Code's own code what it does with each plain form of its settings: its approver about lines, and its globs about
// files. Of the entries about edits the last that matches decides, and nothing is asked where none does: that, and the
// question about what lies outside, are the vendor's source, and not run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { forms } from '../../internal/asked/forms.mjs';
import { agent } from '../../internal/replay/record.mjs';

const answers = join(mkdtempSync(join(tmpdir(), 'modec-vscode-forms-')), 'answers.json');
const edits = 'chat.tools.edits.autoApprove';

function ask({ config }, calls) {
  const file = (arg) => relative('/project', join('/project', arg.replace('$ROOT/', '')));
  const globs = Object.keys(config[edits] ?? {}), of = (group) => calls.filter(([g]) => g === group).map(([, arg]) => arg);
  const input = JSON.stringify({ settings: [config], lines: of('command'), globs, files: of('edit').map(file) });
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'engine.mjs'), answers], { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  const said = JSON.parse(readFileSync(answers, 'utf8'));
  return calls.map(([group, arg]) => {
    if (group === 'command') return said.lines[0].allow.includes(arg) ? 'allow' : 'ask';
    const last = said.globs.findLast((g) => g.files.includes(file(arg)));
    return file(arg).startsWith('..') || (last && !config[edits][last.glob]) ? 'ask' : 'allow';
  });
}
forms(import.meta.dirname, { agent: agent(import.meta.dirname, '@codingame/monaco-vscode-chat-service-override'), how: 'engine', ask });
