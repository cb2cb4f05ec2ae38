// Projects in which the real Codex is started as a subject, as `modec run` does it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serve } from './session.mjs';

export const here = dirname(fileURLToPath(import.meta.url));
const { MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
export const asked = JSON.parse(readFileSync(join(here, 'testdata/decide.json'), 'utf8'));
// Not below the folder for temporary files, which a sandbox opens.
export const work = realpathSync(mkdtempSync(join(process.env.MODEC_WORK ?? homedir(), '.modec-codex-')));
after(() => spawnSync('rm', ['-rf', work]));

export const bin = join(work, 'bin');
let http;
before(async () => {
  mkdirSync(bin);
  symlinkSync(modec, join(bin, 'modec'));
  for (const [name, program] of Object.entries({ github: 'github-mcp-server', browser: 'playwright-mcp' })) {
    const list = join(work, `${name}.json`);
    writeFileSync(list, JSON.stringify(asked.Servers[name]));
    writeFileSync(join(bin, program), `#!/bin/sh\nexec '${process.execPath}' '${join(here, 'stub.mjs')}' '${list}'\n`);
    chmodSync(join(bin, program), 0o755);
  }
  http = await serve(asked.Servers);
});
after(() => http.close());

// project is a build of the showcase, with some files more, whose servers are on this machine.
export function project(name, files = {}) {
  const at = join(work, name);
  cpSync(fixture, at, { recursive: true });
  const file = join(at, 'modec/servers.cue');
  const local = (n) => `http://127.0.0.1:${http.address().port}/${n}`;
  writeFileSync(file, readFileSync(file, 'utf8').replace('http://127.0.0.1:3000/mcp', local('shop')).replace('https://admin.acme.example/mcp', local('admin')));
  for (const [more, text] of Object.entries(files)) writeFileSync(join(at, more), text);
  const run = (command, ...args) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: at, encoding: 'utf8', env: { ...process.env, HOME: join(work, 'person') } });
    assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  run('git', 'init', '-q');
  run(modec, 'build');
  return { at, args: (subject) => run(modec, 'args', subject, '--target', 'codex', '--null', '--accept').split('\0').slice(0, -1) };
}
