// Asks VS Code's own code about the lines and files of testdata/cases.json, by settings that people write and by those of
// a build. testdata/record.json is what it said: targets/vscode/model holds the model against it. MODEC_RECORD=1 writes it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { agent, built, recording } from '../../internal/replay/record.mjs';

const here = (file) => join(import.meta.dirname, 'testdata', file);
const work = mkdtempSync(join(tmpdir(), 'modec-vscode-'));

test('what runs unasked, and which files a glob matches', () => {
  const cases = JSON.parse(readFileSync(here('cases.json'), 'utf8'));
  cases.settings.push(JSON.parse(readFileSync(join(built(work, 'vscode'), '.vscode/settings.json'), 'utf8')));
  const answers = join(work, 'answers.json');
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'engine.mjs'), answers], { input: JSON.stringify(cases), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const said = JSON.parse(readFileSync(answers, 'utf8'));
  const rows = (list) => list.map((x) => `  ${JSON.stringify(x)}`).join(',\n');
  const version = agent(import.meta.dirname, '@codingame/monaco-vscode-chat-service-override');
  if (recording) {
    writeFileSync(here('record.json'), `{\n  "agent": ${JSON.stringify(version)},\n "lines": [\n${rows(said.lines)}\n ],\n "globs": [\n${rows(said.globs)}\n ]\n}\n`);
  }
  const { agent: recorded, ...was } = JSON.parse(readFileSync(here('record.json'), 'utf8'));
  assert.deepEqual(said, was, `${recorded} said something else than ${version}`);
});
