// Asks `claude doctor` about every settings file and the list of servers: it
// tells of settings that do not load, of rules that are skipped and of rules that
// match nothing. It reads a project's own files only, so that each role's settings
// stand there in turn.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const { MODEC_OUT: acme } = process.env;
const claude = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/.bin/claude');
const scratch = mkdtempSync(join(tmpdir(), 'modec-doctor-'));

// The variables that the list of servers refers to: doctor wants them set.
const variables = Object.fromEntries([...readFileSync(join(acme, '.mcp.json'), 'utf8').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name, 'x']));

function doctor(name, put) {
  const root = join(scratch, name);
  mkdirSync(join(root, '.claude'), { recursive: true });
  put(root);
  const env = { ...variables, PATH: '/usr/bin:/bin', HOME: join(root, 'home'), DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1' };
  const { stdout, stderr } = spawnSync(claude, ['doctor'], { cwd: root, env, encoding: 'utf8', timeout: 60_000 });
  assert.match(stdout, /doctor|version|installation/i, `doctor says nothing: ${stderr}`);
  return stdout + stderr;
}

const complaint = /invalid settings|skipped|did not load|matches no known tool|not matched by|malformed/i;

test('doctor reports a bad rule, so that no report means something', () => {
  const said = doctor('bad', (root) => writeFileSync(join(root, '.claude/settings.json'), JSON.stringify({ permissions: { allow: ['bash(ls)'], deny: ['Bogus', 'Write(docs/**)'] } })));
  assert.match(said, complaint);
});

for (const file of readdirSync(join(acme, 'session:claude')).filter((f) => f.endsWith('.settings.json'))) {
  test(`doctor finds nothing in ${file}`, () => {
    const said = doctor(file, (root) => {
      copyFileSync(join(acme, 'session:claude', file), join(root, '.claude/settings.json'));
      copyFileSync(join(acme, '.mcp.json'), join(root, '.mcp.json'));
    });
    assert.doesNotMatch(said, complaint);
  });
}
