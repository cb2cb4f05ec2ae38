// Holds modec's model of Roo Code (../model) against what Roo Code 3.52.1 is made of: the
// published schema, npm yaml, npm ignore and the engine's own RegExp. The
// functions below are Roo's, as src/core/config/CustomModesManager.ts,
// src/core/tools/validateToolUse.ts and src/core/ignore/RooIgnoreController.ts
// have them. testdata/decide.json is what the decider says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { customModesSettingsSchema } from '@roo-code/types';
import ignore from 'ignore';
import stripBom from 'strip-bom';
import YAML from 'yaml';

const cases = JSON.parse(readFileSync(new URL('testdata/decide.json', import.meta.url), 'utf8'));

const replaced = { '\u00A0': ' ', '\u200B': '', '\u200C': '', '\u200D': '', '\u2018': "'", '\u2019': "'", '\u201C': '"', '\u201D': '"' };
const clean = (s) => s.replace(/[\u00A0\u200B-\u200D\u2010-\u2015\u2212\u2018\u2019\u201C\u201D]/g, (c) => replaced[c] ?? '-');

// load returns the modes of a file, null where Roo takes none from it.
function load(text) {
  let data;
  try {
    data = YAML.parse(clean(stripBom(text))) ?? {};
  } catch {
    try {
      data = JSON.parse(text);
    } catch {
      return null;
    }
  }
  if (!data || typeof data !== 'object' || !data.customModes) return null;
  const result = customModesSettingsSchema.safeParse(data);
  return result.success ? result.data.customModes : null;
}

const groupName = (g) => (typeof g === 'string' ? g : g[0]);

const cwd = '/workspace/project';

class Controller {
  constructor(content) {
    this.content = content;
    this.ignore = ignore();
    this.ignore.add(content);
    this.ignore.add('.rooignore');
  }

  validateAccess(path) {
    if (!this.content) return true;
    try {
      return !this.ignore.ignores(relative(cwd, resolve(cwd, path)).replace(/\\/g, '/'));
    } catch {
      return true;
    }
  }

  validateCommand(command) {
    if (!this.content) return undefined;
    const parts = command.trim().split(/\s+/);
    if (!['cat', 'less', 'more', 'head', 'tail', 'grep', 'awk', 'sed', 'get-content', 'gc', 'type', 'select-string', 'sls'].includes(parts[0].toLowerCase())) return undefined;
    return parts.slice(1).find((arg) => !arg.startsWith('-') && !arg.startsWith('/') && !arg.includes(':') && !this.validateAccess(arg));
  }
}

test('a modes file loads in Roo where the decider says so, with the same groups', () => {
  for (const c of cases.loads) {
    const modes = load(c.text);
    const got = modes && Object.fromEntries(modes.map((m) => [m.slug, m.groups.map(groupName).sort()]));
    assert.deepEqual(got, c.modes, JSON.stringify(c.text));
  }
});

test('the ignore file keeps Roo from what the decider says, and from nothing else', () => {
  for (const c of cases.ignores) {
    const controller = new Controller(c.text);
    cases.paths.forEach((p, i) => assert.equal(!controller.validateAccess(p), c.held[i] === '1', `${JSON.stringify(c.text)}: ${JSON.stringify(p)}`));
    cases.lines.forEach((line, i) => assert.equal(Boolean(controller.validateCommand(line)), c.refused[i] === '1', `${JSON.stringify(c.text)}: ${line}`));
  }
});

test("the showcase's modes may in Roo what the decider says", () => {
  const modes = load(readFileSync(join(process.env.MODEC_OUT, '.roomodes'), 'utf8'));
  const controller = new Controller(readFileSync(join(process.env.MODEC_OUT, '.rooignore'), 'utf8'));
  let compared = 0;
  for (const c of cases.acme) {
    const entry = modes.find((m) => m.slug === c.mode).groups.find((g) => groupName(g) === c.group);
    const regex = c.group === 'edit' && entry?.[1]?.fileRegex;
    c.tried.forEach((arg, i) => {
      // Whoever writes ~ means the home folder, which Roo reaches by another path.
      if (c.group === 'read' && arg.startsWith('~')) return;
      const held = c.group === 'command' ? controller.validateCommand(arg) : !controller.validateAccess(arg);
      const got = !entry || Boolean(held) || Boolean(regex && !new RegExp(regex).test(arg));
      assert.equal(got, c.denied[i] === '1', `${c.mode} ${c.group} ${JSON.stringify(arg)}`);
      compared++;
    });
  }
  assert.ok(compared > 1000);
});
