// Holds the model by which modec judges Codex's configurations, and the hook, against Codex itself: testdata/decide.json
// is what the model says (go test ./targets/codex/model -run TestReplay -update writes it), and here Codex is started as
// each subject, as `modec run` does it. MODEC_RECORD=1 writes testdata/record.json, MODEC_QUICK=1 asks about one subject.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agent, artifacts, digest, Record, recording } from '../../internal/replay/record.mjs';
import { serve, session } from './session.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
const settings = join(here, 'testdata/acme.toml');
const asked = JSON.parse(readFileSync(join(here, 'testdata/decide.json'), 'utf8'));
const quick = process.env.MODEC_QUICK === '1' && !recording;
// Not below the folder for temporary files, which a sandbox opens.
const work = realpathSync(mkdtempSync(join(process.env.MODEC_WORK ?? homedir(), '.modec-codex-')));
after(() => spawnSync('rm', ['-rf', work]));

// built is what a build makes of the showcase for Codex alone.
function built() {
  const source = join(work, 'source');
  cpSync(fixture, source, { recursive: true });
  cpSync(settings, join(source, 'modec.toml'));
  const { status, stderr } = spawnSync(modec, ['build', '-C', source, '--out', join(work, 'out')], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return join(work, 'out');
}

const record = new Record({
  agent: agent(here, '@openai/codex'),
  actions: digest(asked.Sessions.map((s) => ({ subject: s.Subject, calls: s.Calls.map((c) => c.slice(0, 2)) }))),
  scenario: '',
  artifacts: artifacts(built(), ['.codex/', '.modec/']),
});
after(() => recording && record.write(join(here, 'testdata/record.json')));

const bin = join(work, 'bin');
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

// project is a build of the showcase whose servers are on this machine.
function project(name) {
  const at = join(work, name);
  cpSync(fixture, at, { recursive: true });
  cpSync(settings, join(at, 'modec.toml'));
  const file = join(at, 'modec/servers.cue');
  const local = (n) => `http://127.0.0.1:${http.address().port}/${n}`;
  writeFileSync(file, readFileSync(file, 'utf8').replace('http://127.0.0.1:3000/mcp', local('shop')).replace('https://admin.acme.example/mcp', local('admin')));
  const run = (command, ...args) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: at, encoding: 'utf8', env: { ...process.env, HOME: join(work, 'person') } });
    assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  run('git', 'init', '-q');
  run(modec, 'build');
  return { at, args: (subject) => run(modec, 'args', subject, '--target', 'codex', '--null', '--accept').split('\0').slice(0, -1) };
}

for (const s of quick ? asked.Sessions.slice(0, 1) : asked.Sessions) {
  test(`what Codex does as ${s.Subject}`, async () => {
    const name = s.Subject.replace(/\W/g, '-');
    const { at, args } = project(name);
    const { became, outputs, warnings } = await session({ at, bin, home: join(work, `${name}-home`), args: args(s.Subject), calls: s.Calls });
    record.session(s.Subject, became);
    const differ = s.Calls.flatMap(([tool, input, want], i) => (became[i] === want ? [] : [`${tool} ${JSON.stringify(input)}: Codex ${became[i]}, the model ${want}: ${outputs[i]}`]));
    assert.deepEqual(differ, [], JSON.stringify(warnings));
  });
}
