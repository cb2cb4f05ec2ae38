// A project that modec adopts decides as before: the real Claude Code is asked about the same calls in the
// files that a team had and in those of `modec migrate` and `modec build`. The calls are those of
// testdata/decide.json and what the team's own rules name. Only edits of what holds permissions may become
// stricter. The projects are those of fixtures/import, and with MODEC_CORPUS real settings.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { close, listen, place, turn } from './session.mjs';

const { MODEC_BIN: modec, MODEC_FIXTURES: fixtures, MODEC_CORPUS: corpus } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const { calls } = JSON.parse(readFileSync(join(here, 'testdata/decide.json'), 'utf8'));

before(listen);
after(close);

// files returns those of a text archive.
function files(archive) {
  const parts = readFileSync(archive, 'utf8').split(/^-- (.+) --$\n?/m).slice(1);
  return Object.fromEntries(parts.flatMap((name, i) => (i % 2 ? [] : [[name, parts[i + 1]]])));
}

const read = (folder, ext) => (existsSync(folder) ? readdirSync(folder).filter((f) => f.endsWith(ext)).map((f) => join(folder, f)) : []);
const projects = Object.fromEntries([
  ...read(join(fixtures, 'import/repositories'), '.txtar').map((f) => [f, files(f)]).filter(([, x]) => x['.claude/settings.json']),
  ...(corpus ? read(join(corpus, 'claude/settings'), '.json') : []).map((f) => [f, { '.claude/settings.json': permissions(f) }]),
]);

// permissions returns what a file of settings permits; what else it runs is not run here.
function permissions(file) {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.stringify({ permissions: JSON.parse(text).permissions }, null, 2);
  } catch {
    return text; // Claude Code refuses it
  }
}

// named returns the calls that a project's own rules are about, and one beside each.
function named(settings) {
  let permissions = {};
  try {
    permissions = JSON.parse(settings).permissions ?? {};
  } catch {
    // Claude Code refuses the file, and nothing in it holds.
  }
  const list = [];
  for (const rule of [permissions.allow, permissions.ask, permissions.deny].flat()) {
    const [, tool, spec] = /^(\w+)\((.*)\)$/s.exec(rule ?? '') ?? [];
    const plain = (spec ?? '').replace(/:\*$/, '').replace(/^domain:/, '').replaceAll('**', 'x/y').replaceAll('*', 'x').replace(/^\.\//, '');
    if (tool === 'Bash') list.push(plain, `${plain} one`, `${plain}x`, `cd src && ${plain}`);
    if (plain.startsWith('/') || plain.startsWith('~') || !plain) continue;
    if (tool === 'Read' || tool === 'Edit') list.push({ name: 'Read', input: { file_path: `ROOT/${plain}` } }, { name: 'Write', input: { file_path: `ROOT/${plain}`, content: 'x' } });
    if (tool === 'WebFetch') list.push({ name: 'WebFetch', input: { url: `https://${plain}/`, prompt: 'x' } });
  }
  return list.slice(0, 400).map((c) => (typeof c === 'string' ? { name: 'Bash', input: { command: c } } : c)).filter((c) => !/^\s*$|rm -rf|kill|reboot|shutdown/.test(c.input.command ?? 'x'));
}

const kept = /^(\.*|(ba|z|da)?sh|env|node|git|cat|ls|echo|pwd|grep|rg|sed|test|true|modec|uname|which|head|tail|tr|mkdir|dirname|basename)$/;

// session asks about calls in a project of some files, before modec or after.
async function session(list, those, adopted) {
  const at = place(true);
  for (const [name, text] of Object.entries(those)) {
    mkdirSync(dirname(join(at.root, name)), { recursive: true });
    writeFileSync(join(at.root, name), text);
  }
  symlinkSync(modec, join(at.bin, 'modec'));
  // What is allowed runs: programs that these calls name do nothing.
  for (const word of new Set(list.flatMap((c) => (c.input.command ?? '').match(/[\w.-]+/g) ?? []))) {
    if (!existsSync(join(at.bin, word)) && !kept.test(word)) writeFileSync(join(at.bin, word), '#!/bin/sh\n', { mode: 0o755 });
  }
  if (adopted) {
    const env = { ...process.env, HOME: at.home, XDG_STATE_HOME: join(at.home, 'state') };
    execFileSync('git', ['init', '-q', at.root]);
    for (const step of [['migrate', '--repair'], ['build'], ['build', '--check']]) execFileSync(modec, ['-q', ...step, '-C', at.root], { env, stdio: 'pipe' });
  }
  return turn(at, list, [], []);
}

const guarded = (c) => ['Write', 'Edit'].includes(c.name) || /[>]|\bgit\b/.test(c.input.command ?? '');

test('an adopted project decides as before', { concurrency: 2 }, async (t) => {
  const all = [];
  for (const [file, those] of Object.entries(projects)) {
    all.push(t.test(file.split('/').slice(-2).join('/'), async () => {
      const list = [...calls, ...named(those['.claude/settings.json'])];
      const [was, is] = [await session(list, those, false), await session(list, those, true)];
      const differs = list.flatMap((c, i) => (was[i] === is[i] ? [] : [`${was[i]} → ${is[i]}: ${c.name} ${JSON.stringify(c.input)}`]));
      const worse = list.filter((c, i) => was[i] !== is[i] && !(guarded(c) && 'dka'.indexOf(is[i]) < 'dka'.indexOf(was[i])));
      assert.equal(worse.length, 0, differs.join('\n'));
    }));
  }
  await Promise.all(all);
});
