// Holds the model by which modec judges a program's artifacts against the program: testdata/decide.json beside its tests
// is what the model takes it to do, and here the program does it. MODEC_BIN is the binary.
// MODEC_QUICK=1 asks about a part of the sessions, MODEC_RECORD=1 writes testdata/record.json.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { agent, artifacts, built, digest, Record, recording } from '../replay/record.mjs';
import { Server } from './program.mjs';

// decides asks a program. prefixes are those of the artifacts that it reads.
export function decides(here, program, prefixes) {
  const asked = JSON.parse(readFileSync(join(here, 'testdata/decide.json'), 'utf8'));
  const every = process.env.MODEC_QUICK === '1' && !recording ? 8 : 1;
  const work = mkdtempSync(join(tmpdir(), `modec-${program.name}-`));

  const names = [...new Set(asked.Sessions.map((s) => s.Project))];
  const builds = Object.fromEntries(names.map((n) => [n, built(here, work, n)]));

  const record = new Record({
    agent: agent(here, program.package),
    actions: digest(asked.Sessions.map((s) => ({ project: s.Project, file: s.File, agent: s.Agent, calls: s.Calls.map((c) => c.slice(0, 2)) }))),
    scenario: '',
    artifacts: Object.fromEntries(names.flatMap((n) => Object.entries(artifacts(builds[n], prefixes)).map(([f, sum]) => [`${n}/${f}`, sum]))),
  });

  let server;
  before(async () => (server = await Server.start(program)));
  after(async () => {
    await server.stop();
    if (recording) record.write(join(here, 'testdata/record.json'));
  });

  // project lays out a folder in which the program reads a file of a build. The servers are our own.
  let folders = 0;
  function project(s) {
    const folder = join(work, `p${folders++}`);
    mkdirSync(folder);
    spawnSync('git', ['init', '-q', '.'], { cwd: folder });
    const settings = JSON.parse(readFileSync(join(builds[s.Project], s.File), 'utf8'));
    settings.mcp = Object.fromEntries(Object.entries(asked.Tools[s.Project]).map(([name, tools]) => [name, { type: 'local', command: [process.execPath, join(import.meta.dirname, 'mcp.mjs'), ...tools] }]));
    writeFileSync(join(folder, `${program.name}.json`), JSON.stringify(settings));
    for (const file of asked.Files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), 'text\n');
    }
    return folder;
  }

  test(`what ${program.name} does`, async () => {
    const differ = [];
    let n = 0;
    for (const [i, s] of asked.Sessions.entries()) {
      if (i % every !== 0) continue;
      const folder = project(s);
      const calls = s.Calls.map(([tool, input]) => [tool, JSON.parse(JSON.stringify(input).replaceAll('$DIR', folder))]);
      const became = await server.decide(folder, s.Agent, calls);
      for (const [j, got] of became.entries()) {
        n++;
        if (got !== s.Calls[j][2]) differ.push(`${s.Project} ${s.File} ${s.Agent} ${JSON.stringify(s.Calls[j].slice(0, 2))}: ${program.name} says ${got}, the model ${s.Calls[j][2]}`);
      }
      record.session(`${s.Project} ${s.File} ${s.Agent}`, became);
    }
    assert.deepEqual(differ, []);
    assert.ok(n > 300 / every, `asked ${n} times`);
  });
}
