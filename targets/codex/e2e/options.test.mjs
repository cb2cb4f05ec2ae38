// Holds the launcher against the options and commands of Codex's own program: testdata/options.txt has them, and the Go
// tests say of each whether `modec run` takes it. MODEC_RECORD=1 writes it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { program } from './session.mjs';

const file = join(dirname(fileURLToPath(import.meta.url)), 'testdata/options.txt');

test('the options of the program', () => {
  const help = (...of) => spawnSync(program(), [...of, '--help'], { encoding: 'utf8' }).stdout;
  const own = help();
  const options = [own, help('exec')].flatMap((text) => [...text.matchAll(/^ +(?:-(\w), )?--([\w-]+)/gm)].map(([, short, long]) => `--${long}${short ? ` -${short}` : ''}`));
  const commands = [...own.split('Arguments:')[0].matchAll(/^ {2}([\w-]+) {2,}(.*)$/gm)].flatMap(([, name, rest]) => [name, ...(rest.match(/aliases: ([\w, ]+)/)?.[1].split(', ') ?? [])]);
  assert.ok(options.length > 30 && commands.length > 20, own);
  const now = [...new Set([...options, ...commands])].sort().join('\n') + '\n';
  if (process.env.MODEC_RECORD === '1') writeFileSync(file, now);
  assert.equal(readFileSync(file, 'utf8'), now);
});
