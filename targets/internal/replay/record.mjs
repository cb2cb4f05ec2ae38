// Writes what a real agent did to testdata/record.json beside its tests: the payloads
// that it sent to modec's hook, the answers that it got, and what became of each call.
// replay.go reads it. With MODEC_RECORD=1 (make agents) the tests record.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const recording = process.env.MODEC_RECORD === '1';

export const sha256 = (data) => createHash('sha256').update(data).digest('hex');

// digest returns the digest of a JSON value, whatever the order of its keys. Go writes
// the same text: it escapes the separators of lines too.
export function digest(value) {
  const sorted = (_, v) => (v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v);
  return sha256(JSON.stringify(value, sorted).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029'));
}

// built compiles a fixture below work. It returns the folder of the build, with what sessions are started with where the
// models find it.
export function built(work, name) {
  const top = join(import.meta.dirname, '../../..'), out = join(work, 'out', name);
  const { status, stderr } = spawnSync(process.env.MODEC_BIN, ['build', '-C', join(top, 'fixtures', name), '--out', out], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  for (const part of ['modec.toml', 'modec']) cpSync(join(top, 'fixtures', name, part), join(out, part), { recursive: true }); // the hooks decide by it
  const golden = join(top, 'golden', name);
  for (const target of readdirSync(golden)) {
    const session = join(golden, target, 'session');
    if (existsSync(session)) cpSync(session, join(out, `session:${target}`), { recursive: true });
  }
  return out;
}

// artifacts returns the digests of the files of a build that begin with one of the prefixes.
export function artifacts(build, prefixes) {
  const files = readdirSync(build, { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile())
    .map((f) => join(f.parentPath ?? f.path, f.name).slice(build.length + 1).replaceAll('\\', '/'))
    .filter((f) => prefixes.some((p) => f.startsWith(p)));
  return Object.fromEntries(files.sort().map((f) => [f, sha256(readFileSync(join(build, f)))]));
}

// agent names the installed packages that are the agent, with their versions.
export const agent = (e2e, ...names) => names.map((n) => `${n} ${JSON.parse(readFileSync(join(e2e, 'node_modules', n, 'package.json'), 'utf8')).version}`).join(', ');

// Tap is a program named modec in a folder of its own, which runs the real one and notes
// what passed through it.
export class Tap {
  constructor(folder, modec) {
    this.folder = folder;
    this.notes = join(folder, 'notes');
    mkdirSync(this.notes, { recursive: true });
    writeFileSync(join(folder, 'modec'), `#!${process.execPath}
const { spawnSync } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');
const args = process.argv.slice(2), input = readFileSync(0);
const { stdout, stderr, status } = spawnSync(${JSON.stringify(modec)}, args, { input });
const note = { command: args, payload: input.toString(), answer: { exit: status, stdout: stdout.toString(), stderr: stderr.toString() } };
writeFileSync(${JSON.stringify(this.notes)} + '/' + require('node:crypto').randomUUID() + '.json', JSON.stringify(note));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = status;
`);
    chmodSync(join(folder, 'modec'), 0o755);
  }

  // calls returns the notes with the folders replaced by their names.
  calls(folders) {
    return readdirSync(this.notes).map((f) => {
      let text = readFileSync(join(this.notes, f), 'utf8');
      for (const [name, folder] of Object.entries(folders)) text = text.replaceAll(realpathSync(folder), name);
      const note = JSON.parse(text);
      return { ...note, payload: JSON.parse(note.payload) };
    });
  }
}

// Record collects sessions. A part that several calls share is written once, under a
// name made of its digest.
export class Record {
  sessions = [];
  parts = { commands: {}, payloads: {}, answers: {} };

  constructor(key) {
    this.key = key;
  }

  part(kind, value) {
    const id = digest(value).slice(0, 10);
    this.parts[kind][id] = value;
    return id;
  }

  // session adds what became of each call, in their order, and the hook's calls.
  session(name, became, calls = []) {
    const hooks = calls.map((c) => [this.part('commands', c.command), this.part('payloads', c.payload), this.part('answers', c.answer)]);
    this.sessions.push({ name, hooks, became });
  }

  write(file) {
    const rows = (values, indent) => (values.length === 0 ? '' : '\n' + values.map((v) => indent + v).join(',\n') + '\n' + indent.slice(1));
    const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const parts = Object.entries(this.parts).map(([kind, values]) => {
      const entries = Object.entries(values).sort(([a], [b]) => byName(a, b));
      return ` "${kind}": {${rows(entries.map(([id, v]) => `"${id}": ${JSON.stringify(v)}`), '  ')}},\n`;
    });
    const sessions = this.sessions.sort((a, b) => byName(a.name, b.name)).map(({ name, hooks, became }) =>
      `{"name": ${JSON.stringify(name)}, "hooks": [${rows(hooks.map((h) => JSON.stringify(h)), '   ')}], "became": ${JSON.stringify(became)}}`);
    this.key.artifacts = Object.fromEntries(Object.entries(this.key.artifacts).sort(([a], [b]) => byName(a, b)));
    const key = JSON.stringify(this.key, null, 1).replaceAll('\n', '\n ');
    writeFileSync(file, `{\n "key": ${key},\n${parts.join('')} "sessions": [${rows(sessions, '  ')}]\n}\n`);
  }
}
