// Holds the model by which modec judges Codex's configurations, and the hook, against Codex itself: testdata/decide.json
// is what the model says (go test ./targets/codex/model -run TestReplay -update writes it), and here Codex is started as
// each subject, as `modec run` does it. MODEC_RECORD=1 writes testdata/record.json, MODEC_QUICK=1 asks about one subject.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { agent, artifacts, built, digest, Record, recording } from '../../internal/replay/record.mjs';
import { asked, bin, here, project, work } from './project.mjs';
import { session } from './session.mjs';

const quick = process.env.MODEC_QUICK === '1' && !recording;
const record = new Record({
  agent: agent(here, '@openai/codex'),
  actions: digest(asked.Sessions.map((s) => ({ subject: s.Subject, calls: s.Calls.map((c) => c.slice(0, 2)) }))),
  scenario: '',
  artifacts: artifacts(built(work, 'acme'), ['.codex/', 'session:codex/']),
});
after(() => recording && record.write(join(here, 'testdata/record.json')));

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
