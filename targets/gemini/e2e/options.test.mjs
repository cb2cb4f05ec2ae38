// Holds the launcher against the options and commands of Gemini CLI's own program: testdata/options.txt has them, and
// the Go tests say of each whether `modec run` takes it. MODEC_RECORD=1 writes it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const file = join(here, 'testdata/options.txt');
const cli = join(dirname(createRequire(import.meta.url).resolve('@google/gemini-cli/package.json')), 'bundle/gemini.js');

test('the options of the program', () => {
  const env = { ...process.env, GEMINI_CLI_HOME: mkdtempSync(join(tmpdir(), 'modec-gemini-')), GEMINI_CLI_NO_RELAUNCH: 'true' };
  const { stdout, stderr } = spawnSync(process.execPath, [cli, '--help'], { encoding: 'utf8', env });
  const help = stdout + stderr;
  const options = [...help.matchAll(/^ +(?:-(\w), )?--([\w-]+)/gm)].map(([, short, long]) => `--${long}${short ? ` -${short}` : ''}`);
  const commands = [...help.matchAll(/^ {2}gemini (\w+)(.*)$/gm)].flatMap(([, name, rest]) => [name, ...(rest.match(/aliases?: ([\w, ]+)/)?.[1].split(', ') ?? [])]);
  assert.ok(options.length > 20 && commands.length > 3, help);
  const now = [...options, ...commands].sort().join('\n') + '\n';
  if (process.env.MODEC_RECORD === '1') writeFileSync(file, now);
  assert.equal(readFileSync(file, 'utf8'), now);
});
