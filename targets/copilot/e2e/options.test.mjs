// Holds the launcher against the options and commands of Copilot's own program: testdata/options.txt has them, and the Go
// tests say of each whether `modec run` takes it. MODEC_RECORD=1 writes it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { here, program } from './program.mjs';

const file = join(here, 'testdata/options.txt');

test('the options of the program', () => {
  const home = mkdtempSync(join(process.env.MODEC_WORK ?? tmpdir(), 'modec-copilot-options-'));
  const { stdout } = spawnSync(program, ['--help'], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: home, COPILOT_OFFLINE: 'true' } });
  rmSync(home, { recursive: true, force: true });
  const options = [...stdout.matchAll(/^ +(?:-(\w), )?(--[\w-]+|-\w)/gm)].map(([, short, long]) => `${long}${short ? ` -${short}` : ''}`);
  const commands = [...stdout.split('Options:')[0].matchAll(/^ {2}([\w-]+) {2,}/gm)].map(([, name]) => name);
  assert.ok(options.length > 60 && commands.length > 14, stdout);
  const now = [...new Set([...options, ...commands])].sort().join('\n') + '\n';
  if (process.env.MODEC_RECORD === '1') writeFileSync(file, now);
  assert.equal(readFileSync(file, 'utf8'), now);
});
