// Holds the model by which modec judges a program's artifacts against the program: testdata/decide.json beside its tests
// is what the model takes it to do, and here the program does it. MODEC_BIN is the binary.
// MODEC_QUICK=1 asks about a part of the sessions, MODEC_RECORD=1 writes testdata/record.json.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
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
  const builds = Object.fromEntries(names.map((n) => [n, built(work, n)]));

  const record = new Record({
    agent: agent(here, program.package),
    actions: digest(asked.Sessions.map((s) => ({ project: s.Project, file: s.File, agent: s.Agent, calls: s.Calls.map((c) => c.slice(0, 2)) }))),
    scenario: '',
    artifacts: Object.fromEntries(names.flatMap((n) => Object.entries(artifacts(builds[n], prefixes)).map(([f, sum]) => [`${n}/${f}`, sum]))),
  });

  // Starting the servers of a folder takes its time: several programs have a part of the folders each. More of them than
  // processors wait for one another.
  let servers;
  before(async () => (servers = await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, () => Server.start(program)))));
  after(async () => {
    await Promise.all(servers.map((s) => s.stop()));
    if (recording) record.write(join(here, 'testdata/record.json'));
  });

  // project lays out a folder in which the program reads a file of a build. The servers are our own: those of which a tool
  // is called.
  const folders = new Map();
  function project(s) {
    const key = `${s.Project} ${s.File}`;
    if (folders.has(key)) return folders.get(key);
    const folder = join(work, `p${folders.size}`);
    folders.set(key, folder);
    mkdirSync(folder);
    const called = asked.Sessions.filter((t) => t.Project === s.Project && t.File === s.File).flatMap((t) => t.Calls.map((c) => c[0]));
    const listed = Object.entries(asked.Tools[s.Project]).filter(([name]) => called.some((tool) => tool.startsWith(`${name}_`)));
    spawnSync('git', ['init', '-q', '.'], { cwd: folder });
    const settings = JSON.parse(readFileSync(join(builds[s.Project], s.File), 'utf8'));
    settings.mcp = Object.fromEntries(listed.map(([name, tools]) => [name, { type: 'local', command: [process.execPath, join(import.meta.dirname, 'mcp.mjs'), ...tools] }]));
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
    const some = asked.Sessions.filter((_, i) => i % every === 0);
    const files = [...new Set(some.map((s) => `${s.Project} ${s.File}`))].map((key) => some.filter((s) => `${s.Project} ${s.File}` === key));
    const ask = async (server, s) => {
      const folder = project(s);
      const calls = s.Calls.map(([tool, input]) => [tool, JSON.parse(JSON.stringify(input).replaceAll('$DIR', folder))]);
      // A role that has the name of an agent of the program's own begins as another one.
      const off = JSON.parse(readFileSync(join(builds[s.Project], s.File), 'utf8')).agent[s.Agent]?.disable;
      const became = await server.decide(folder, off ? undefined : s.Agent, calls);
      for (const [j, got] of became.entries()) {
        n++;
        if (got !== s.Calls[j][2]) differ.push(`${s.Project} ${s.File} ${s.Agent} ${JSON.stringify(s.Calls[j].slice(0, 2))}: ${program.name} says ${got}, the model ${s.Calls[j][2]}`);
      }
      record.session(`${s.Project} ${s.File} ${s.Agent}`, became);
    };
    await Promise.all(servers.map(async (server) => {
      for (let list = files.shift(); list; list = files.shift()) {
        for (const s of list) await ask(server, s);
      }
    }));
    assert.deepEqual(differ, []);
    assert.ok(n > 300 / every, `asked ${n} times`);
  });
}
