// Loads what modec emitted as Roo Code 3.52.1 does: clean the raw text, parse
// YAML 1.2, check with the published schema. MODEC_OUT is a build of the
// showcase project, MODEC_BIN the binary, MODEC_FIXTURES the other projects.
// MODEC_QUICK=1 asks about the paths of one mode only.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { customModesSettingsSchema } from '@roo-code/types';
import ignore from 'ignore';
import stripBom from 'strip-bom';
import YAML from 'yaml';

const { MODEC_OUT: acme, MODEC_BIN: modec, MODEC_FIXTURES: fixtures, MODEC_QUICK } = process.env;
const quick = MODEC_QUICK === '1';

function build(name) {
  const out = mkdtempSync(join(tmpdir(), 'modec-roo-'));
  execFileSync(modec, ['-q', 'build', '-C', join(fixtures, name), '--out', out, '--target', 'roo', '--target', 'model'], { stdio: ['ignore', 'ignore', 'inherit'] });
  return out;
}

const replaced = { '\u00A0': ' ', '\u200B': '', '\u200C': '', '\u200D': '', '\u2018': "'", '\u2019': "'", '\u201C': '"', '\u201D': '"' };
const testdata = (name) => readFileSync(new URL(`testdata/${name}`, import.meta.url), 'utf8');
const clean = (s) => s.replace(/[\u00A0\u200B-\u200D\u2010-\u2015\u2212\u2018\u2019\u201C\u201D]/g, (c) => replaced[c] ?? '-');

function load(root, file) {
  return parse(readFileSync(join(root, file), 'utf8'));
}

function parse(raw) {
  const data = YAML.parse(clean(stripBom(raw)));
  const result = customModesSettingsSchema.safeParse(data);
  assert.ok(result.success, JSON.stringify(result.error?.issues));
  return { raw: data, modes: result.data.customModes };
}

const model = (root) => JSON.parse(readFileSync(join(root, 'modec.model.json'), 'utf8'));

function sameTexts(root, modes) {
  for (const m of model(root).modes) {
    const got = modes.find((x) => x.slug === m.slug);
    assert.ok(got, `${m.slug} is missing`);
    for (const field of ['name', 'roleDefinition', 'whenToUse', 'description', 'customInstructions']) {
      assert.equal(got[field] ?? '', m[field] ?? '', `${m.slug}.${field} arrives to the letter`);
    }
  }
}

test('the showcase loads, and every text arrives to the letter', () => {
  const { raw, modes } = load(acme, '.roomodes');
  assert.deepEqual(modes, raw.customModes, 'stock Roo strips nothing of it');
  sameTexts(acme, modes);
});

test('the built-in modes that the source does not name are shadowed', () => {
  const { modes } = load(acme, '.roomodes');
  for (const slug of ['architect', 'ask', 'code', 'debug', 'orchestrator']) {
    assert.ok(modes.some((m) => m.slug === slug), slug);
  }
});

test('hostile text survives cleaning and parsing', () => {
  const root = build('unicode');
  sameTexts(root, load(root, '.roomodes').modes);
});

for (const form of ['yaml', 'json']) {
  test(`each hostile text arrives in each field, as ${form}`, () => {
    const texts = JSON.parse(testdata('hostile.json'));
    // Roo wants a name and a role of one character at least.
    const raw = YAML.parse(clean(stripBom(testdata(`hostile.${form}.roomodes`))));
    assert.equal(raw.customModes.length, texts.length);
    texts.forEach((text, i) => {
      const m = raw.customModes[i];
      for (const field of ['name', 'roleDefinition', 'whenToUse', 'description', 'customInstructions']) {
        assert.equal(m[field] ?? '', text, field);
      }
      assert.equal(m.groups[0][1].description ?? '', text, 'description of the group');
    });
  });
}

test('a fileRegex refuses what the source denies and takes plain paths that it allows', () => {
  for (const c of JSON.parse(testdata('edit.json'))) {
    const re = new RegExp(c.regex);
    for (const p of c.denied) assert.ok(!re.test(p), `${JSON.stringify(p)} passes ${c.regex}`);
    for (const p of c.edited) assert.ok(re.test(p), `${JSON.stringify(p)} does not pass ${c.regex}`);
  }
});

test('a line of the ignore file holds what its deny holds', () => {
  for (const c of JSON.parse(testdata('ignore.json'))) {
    const file = ignore().add(c.line);
    for (const p of c.denied) assert.ok(file.ignores(p), `${c.line} lets ${p} be read`);
    const more = c.read.filter((p) => file.ignores(p));
    assert.ok(more.every((p) => p === c.line.replaceAll(/[/*]|\[(.).\]/gu, '$1')), `${c.line} also holds ${more}`);
  }
});

test('every fileRegex compiles and agrees with modec about paths', () => {
  const { modes } = load(acme, '.roomodes');
  const paths = ['README.md', 'docs/a.md', 'docs/adr/0001-x.md', 'src/index.ts', 'package.json', '.roomodes', '.claude/settings.json', 'modec/modes/code.cue', '.git/config', '.env', 'db/migrations/applied/1.sql', 'apps/web/messages/de.json', 'x.md'];
  const ignored = ignore().add(readFileSync(join(acme, '.rooignore'), 'utf8'));
  let compared = 0;
  for (const m of modes) {
    const edit = m.groups.find((g) => g === 'edit' || g[0] === 'edit');
    if (!model(acme).modes.some((x) => x.slug === m.slug) || (quick && m.slug !== 'code')) continue;
    for (const p of paths) {
      const roo = edit !== undefined && (!edit[1]?.fileRegex || new RegExp(edit[1].fileRegex).test(p)) &&
        !(ignore.isPathValid(p) && ignored.ignores(p)); // the ignore file holds for every tool
      let decision;
      try {
        decision = JSON.parse(execFileSync(modec, ['explain', '-C', process.env.MODEC_FIXTURE, m.slug, 'edit', p, '--json'], { encoding: 'utf8' })).decision;
      } catch (e) {
        decision = JSON.parse(e.stdout).decision;
      }
      assert.ok(!roo || decision !== 'deny', `${m.slug} may edit ${JSON.stringify(p)} in Roo, and the source denies it`);
      compared++;
    }
  }
  assert.ok(compared >= (quick ? 1 : 8) * paths.length);
});

test('the Zoo file has only the keys that Zoo adds', () => {
  // Zoo adds the group web, which Roo's schema does not know.
  const raw = YAML.parse(clean(readFileSync(join(acme, '.zoomodes'), 'utf8')));
  for (const m of raw.customModes) {
    for (const key of Object.keys(m)) {
      assert.ok(['slug', 'name', 'roleDefinition', 'whenToUse', 'description', 'customInstructions', 'groups', 'allowedMcpServers'].includes(key), key);
    }
  }
});

test('mcp.json has the types and fields that Roo takes', () => {
  const { mcpServers } = JSON.parse(readFileSync(join(acme, '.roo/mcp.json'), 'utf8'));
  assert.ok(Object.keys(mcpServers).length > 0);
  for (const [name, s] of Object.entries(mcpServers)) {
    const remote = ['type', 'url', 'headers'], local = ['type', 'command', 'args', 'cwd', 'env'];
    assert.ok(['stdio', 'sse', 'streamable-http'].includes(s.type), name);
    for (const key of Object.keys(s)) {
      assert.ok([...(s.type === 'stdio' ? local : remote), 'timeout', 'disabled', 'alwaysAllow', 'disabledTools'].includes(key), `${name}.${key}`);
    }
    for (const tool of s.alwaysAllow ?? []) assert.ok(!(s.disabledTools ?? []).includes(tool), `${name}:${tool} is on both lists`);
  }
});
