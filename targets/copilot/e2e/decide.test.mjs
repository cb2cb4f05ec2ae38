// Holds the model by which modec judges Copilot's sessions, the hook and the launcher against Copilot itself:
// testdata/decide.json is what the model says (go test ./targets/copilot/model -run TestReplay -update writes it), and here
// `modec run` starts Copilot as each subject. MODEC_RECORD=1 writes testdata/record.json, MODEC_QUICK=1 asks about one
// subject.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agent, artifacts, built, digest, Record, recording } from '../../internal/replay/record.mjs';
import { here, Project, serve, workshop } from './program.mjs';

const asked = JSON.parse(readFileSync(join(here, 'testdata/decide.json'), 'utf8'));
const quick = process.env.MODEC_QUICK === '1' && !recording;
const work = workshop(asked.Servers);
after(() => rmSync(work, { recursive: true, force: true }));

const record = new Record({
  agent: agent(here, '@github/copilot-linux-x64'),
  actions: digest(asked.Sessions.map((s) => ({ subject: s.Subject, calls: s.Calls.map((c) => c.slice(0, 2)) }))),
  scenario: '',
  artifacts: artifacts(built(work, 'acme'), ['.github/', 'session:copilot/']),
});
let http;
before(async () => (http = await serve(asked.Servers)));
after(() => {
  http.close();
  if (recording) record.write(join(here, 'testdata/record.json'));
});

for (const s of quick ? asked.Sessions.slice(0, 1) : asked.Sessions) {
  test(`what Copilot does as ${s.Subject}`, async () => {
    const project = new Project(work, s.Subject.replace(/\W/g, '-'), asked.Servers, http.port);
    const { became, outputs, err } = await project.session(s.Subject, s.Calls);
    record.session(s.Subject, became);
    const differ = s.Calls.flatMap(([tool, input, want], i) => (became[i] === want ? [] : [`${tool} ${JSON.stringify(input)}: Copilot ${became[i]}, the model ${want}: ${outputs[i]}`]));
    assert.deepEqual(differ, [], err);
  });
}
