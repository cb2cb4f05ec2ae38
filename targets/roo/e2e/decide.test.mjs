// Holds modec's model of Roo Code (../model) against what Roo Code 3.52.1 is made of: the
// published schema, npm yaml, npm ignore and the engine's own RegExp.
// testdata/decide.json is what the decider says. MODEC_RECORD=1 writes
// testdata/record.json.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agent, artifacts, digest, Record, recording } from '../../internal/replay/record.mjs';
import { Controller, groupName, load } from './engine.mjs';

const cases = JSON.parse(readFileSync(new URL('testdata/decide.json', import.meta.url), 'utf8'));
const record = new Record({
  agent: agent(dirname(fileURLToPath(import.meta.url)), '@roo-code/types', 'ignore', 'strip-bom', 'yaml', 'zod'),
  actions: digest({
    loads: cases.loads.map((c) => c.text),
    ignores: cases.ignores.map((c) => c.text),
    paths: cases.paths,
    lines: cases.lines,
    acme: cases.acme.map(({ mode, group, tried }) => ({ mode, group, tried })),
  }),
  scenario: '',
  artifacts: artifacts(process.env.MODEC_OUT, ['.roomodes', '.rooignore']),
});
after(() => recording && record.write(fileURLToPath(new URL('testdata/record.json', import.meta.url))));

// bits writes an answer for each of a list as decide.json does: 1 for yes.
const bits = (list) => list.map((yes) => (yes ? '1' : '0')).join('');

test('a modes file loads in Roo where the decider says so, with the same groups', () => {
  const got = cases.loads.map((c) => {
    const modes = load(c.text);
    return modes && Object.fromEntries(modes.map((m) => [m.slug, m.groups.map(groupName).sort()]).sort());
  });
  record.session('loads', got.map((modes) => JSON.stringify(modes)));
  cases.loads.forEach((c, i) => assert.deepEqual(got[i], c.modes, JSON.stringify(c.text)));
});

test('the ignore file keeps Roo from what the decider says, and from nothing else', () => {
  const got = cases.ignores.map((c) => {
    const controller = new Controller(c.text);
    return [cases.paths.map((p) => !controller.validateAccess(p)), cases.lines.map((line) => Boolean(controller.validateCommand(line)))];
  });
  record.session('ignores, paths', got.map(([held]) => bits(held)));
  record.session('ignores, lines', got.map(([, refused]) => bits(refused)));
  cases.ignores.forEach((c, n) => {
    const [held, refused] = got[n];
    cases.paths.forEach((p, i) => assert.equal(held[i], c.held[i] === '1', `${JSON.stringify(c.text)}: ${JSON.stringify(p)}`));
    cases.lines.forEach((line, i) => assert.equal(refused[i], c.refused[i] === '1', `${JSON.stringify(c.text)}: ${line}`));
  });
});

// Whoever writes ~ means the home folder, which Roo reaches by another path.
const elsewhere = (group, arg) => group === 'read' && arg.startsWith('~');

test("the showcase's modes may in Roo what the decider says", () => {
  const modes = load(readFileSync(join(process.env.MODEC_OUT, '.roomodes'), 'utf8'));
  const controller = new Controller(readFileSync(join(process.env.MODEC_OUT, '.rooignore'), 'utf8'));
  const denied = ({ mode, group, tried }) => {
    const entry = modes.find((m) => m.slug === mode).groups.find((g) => groupName(g) === group);
    const regex = group === 'edit' && entry?.[1]?.fileRegex;
    return tried.map((arg) => {
      const held = group === 'command' ? controller.validateCommand(arg) : !controller.validateAccess(arg);
      return !entry || Boolean(held) || Boolean(regex && !new RegExp(regex).test(arg));
    });
  };
  const got = cases.acme.map(denied);
  record.session('acme', cases.acme.map((c, n) => bits(got[n].filter((_, i) => !elsewhere(c.group, c.tried[i])))));
  let compared = 0;
  cases.acme.forEach((c, n) => c.tried.forEach((arg, i) => {
    if (elsewhere(c.group, arg)) return;
    assert.equal(got[n][i], c.denied[i] === '1', `${c.mode} ${c.group} ${JSON.stringify(arg)}`);
    compared++;
  }));
  assert.ok(compared > 1000);
});
