// Asks an agent what it does with each plain entry of its format. forms.json beside this file has the questions that all
// agents have: what a source says, and calls. testdata/forms.json beside an agent's tests has its entries for them, as a
// careful person writes them: {name, form, config, calls}. The name is that of a question, a form tells two spellings of
// one apart, and calls are more ones. MODEC_RECORD=1 writes what the agent did to testdata/forms-record.json; else the
// answers have to be the recorded ones. forms_test.go reads both files.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { digest, recording } from '../replay/record.mjs';

const questions = JSON.parse(readFileSync(join(import.meta.dirname, 'forms.json'), 'utf8'));

// servers are those of the calls, with their tools.
export const servers = {};
for (const q of questions) {
  for (const [group, arg] of q.calls.map((c) => (Array.isArray(c) ? c : [q.group, c]))) {
    if (group === 'mcp') (servers[arg.split(':')[0]] ??= []).push(arg.split(':')[1]);
  }
}
for (const [name, tools] of Object.entries(servers)) servers[name] = [...new Set(tools)];

// place lays out the folder of a case, with what its calls read.
export function place(folder, calls, more = {}) {
  const read = calls.filter(([group]) => group === 'read').map(([, file]) => file.replace('$ROOT/', ''));
  for (const folder of ['config', 'docs', 'src']) more[`${folder}/keep`] = 'text\n';
  for (const file of read) more[normalize(file)] ??= 'text\n';
  for (const [file, text] of Object.entries(more)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

// programs lays out a folder with what calls run, which does nothing.
export function programs(folder) {
  mkdirSync(folder, { recursive: true });
  for (const name of ['npm', 'curl', 'sudo']) writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 });
  return folder;
}

// forms has an agent asked. ask(case, calls) answers "allow", "ask" or "deny" for each [group, argument], and "unknown" for
// one about which a part of the agent that is not here decides. So many cases are asked about at a time.
export function forms(here, { agent, how, ask, at = 1 }) {
  const file = join(here, 'testdata/forms-record.json');
  const was = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const cases = JSON.parse(readFileSync(join(here, 'testdata/forms.json'), 'utf8')).map((c) => {
    const q = questions.find((q) => q.name === c.name);
    assert.ok(q, `no question is called ${c.name}`);
    return { ...c, mode: q.mode === true, calls: [...q.calls, ...(c.calls ?? [])].map((call) => (Array.isArray(call) ? call : [q.group, call])) };
  });
  test(`what ${agent} does with plain forms`, async () => {
    const answers = [], rest = [...cases.entries()];
    const next = async ([i, c]) => {
      const became = await ask(c, c.calls);
      const said = (d) => c.calls.flatMap(([group, arg], i) => (became[i] === d ? [`${group} ${arg}`] : []));
      const answer = { name: c.name, form: c.form, allow: said('allow'), ask: said('ask'), deny: said('deny') };
      if (became.includes('unknown')) answer.unknown = said('unknown');
      assert.deepEqual(became.filter((d) => !Object.hasOwn(answer, d)), [], c.name);
      answers[i] = answer;
    };
    await Promise.all(Array.from({ length: at }, async () => {
      while (rest.length > 0) await next(rest.shift());
    }));
    const key = digest(cases.map(({ name, form, config, calls }) => ({ name, form: form ?? '', config, calls })));
    if (recording) {
      const rows = (list, indent) => list.map((a) => indent + JSON.stringify(a)).join(',\n');
      const lists = answers.map(({ name, form, ...said }) => `  {"name": ${JSON.stringify(name)},${form ? ` "form": ${JSON.stringify(form)},` : ''}\n${Object.entries(said).map(([d, l]) => `   "${d}": ${JSON.stringify(l)}`).join(',\n')}}`);
      const exceptions = was.exceptions?.length ? `,\n "exceptions": [\n${rows(was.exceptions, '  ')}\n ]` : '';
      writeFileSync(file, `{\n "agent": ${JSON.stringify(agent)},\n "how": ${JSON.stringify(how)},\n "cases": "${key}",\n "answers": [\n${lists.join(',\n')}\n ]${exceptions}\n}\n`);
      return;
    }
    assert.equal(was.cases, key, 'the cases changed: run make agents');
    assert.deepEqual(JSON.parse(JSON.stringify(answers)), was.answers);
  });
}
