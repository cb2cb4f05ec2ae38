// Migrates modes files with the real command, builds what came out, and holds the
// built file against the original as Roo Code 3.52.1 loads both. MODEC_CORPUS is
// a folder of real files; without it only the project's own are tried.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { customModesSettingsSchema } from '@roo-code/types';
import stripBom from 'strip-bom';
import YAML from 'yaml';

const { MODEC_BIN: modec, MODEC_FIXTURES: fixtures, MODEC_CORPUS: corpus } = process.env;

const replaced = { '\u00A0': ' ', '\u200B': '', '\u200C': '', '\u200D': '', '\u2018': "'", '\u2019': "'", '\u201C': '"', '\u201D': '"' };
const clean = (s) => s.replace(/[\u00A0\u200B-\u200D\u2010-\u2015\u2212\u2018\u2019\u201C\u201D]/g, (c) => replaced[c] ?? '-');

// CustomModesManager: the cleaned text as YAML, else the original as JSON; the
// deprecated group browser is dropped before the schema sees it.
function load(raw) {
  let data;
  try {
    data = YAML.parse(clean(stripBom(raw)));
  } catch {
    data = JSON.parse(raw);
  }
  const name = (g) => (Array.isArray(g) ? g[0] : g);
  for (const m of data?.customModes ?? []) if (Array.isArray(m?.groups)) m.groups = m.groups.filter((g) => name(g) !== 'browser');
  const result = customModesSettingsSchema.safeParse(data);
  return result.success ? result.data.customModes : undefined;
}

// Clean relative paths that no project guards.
const paths = ['a', 'a.md', 'README.md', 'readme.MD', 'docs/a.md', 'docs/sub/b.mdx', 'src/x.ts', 'src/a/b.test.tsx', 'test/Foo.spec.js', 'package.json', 'web/package.json', 'notes/x',
  'a/notes/y.txt', 'memory-bank/progress.md', 'config/app.yaml', 'x.py', 'dir.md/run.sh', 'a b.md', 'ünï.md', 'tests/unit/t.go', 'Makefile', 'x.xml', 'workflow/w.md', '日本.md', '规范/docs/规范.md', 'docs'];

const edits = (m) => {
  const group = m.groups.find((g) => (Array.isArray(g) ? g[0] : g) === 'edit');
  if (!group) return () => false;
  const source = Array.isArray(group) ? group[1].fileRegex : undefined;
  return source ? (p) => new RegExp(source).test(p) : () => true;
};

const names = (m) => m.groups.map((g) => (Array.isArray(g) ? g[0] : g)).filter((g) => g !== 'modes').sort();

function migrated(raw, file, ...flags) {
  const dir = mkdtempSync(join(tmpdir(), 'modec-import-'));
  try {
    cpSync(file, join(dir, '.roomodes'));
    execFileSync(modec, ['-q', 'migrate', '-C', dir, '--from', 'roo', join(dir, '.roomodes'), ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
    execFileSync(modec, ['-q', 'build', '-C', dir, '--force', '--target', 'roo'], { stdio: ['ignore', 'ignore', 'pipe'] });
    return load(readFileSync(join(dir, '.roomodes'), 'utf8'));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const files = [fixtures && join(fixtures, 'import', 'roo'), corpus && join(corpus, 'roomodes')]
  .filter((d) => d && existsSync(d))
  .flatMap((d) => readdirSync(d).filter((f) => /modes$|\.yaml$/.test(f) && !f.endsWith('.kilocodemodes')).map((f) => join(d, f)));
if (!corpus) console.log('# not run: the real files (MODEC_CORPUS)');

// What modec writes anew has the characters that a person wrote, where Roo reads plain ones from the
// original: it cleans the raw text of a modes file (PROBLEMATIC_CHARS in CustomModesManager.ts).
const cleaned = (text) => text.replace(/[\u00A0]/g, ' ').replace(/[\u200B\u200C\u200D]/g, '')
  .replace(/[\u2010-\u2015\u2212]/g, '-').replace(/[\u2018\u2019]/g, "'").replace(/[\u201C\u201D]/g, '"');

for (const file of files) {
  const raw = readFileSync(file, 'utf8');
  let original;
  try {
    original = load(raw);
  } catch {
    original = undefined;
  }
  if (!original) continue; // what Roo refuses is refused: the Go tests hold that
  for (const flags of [[], ['--approved', 'read,edit,command,mcp,modes']]) {
    test(`${file.split('/').pop()} comes back ${flags[0] ?? ''}`, () => {
      const built = migrated(raw, file, ...flags);
      assert.ok(built, 'the built file loads');
      assert.deepEqual(built.map((m) => m.slug).sort(), original.map((m) => m.slug).sort());
      for (const was of original) {
        const is = built.find((m) => m.slug === was.slug);
        for (const field of ['name', 'roleDefinition', 'whenToUse', 'description', 'customInstructions']) {
          if (field === 'roleDefinition' && !was[field].trim()) continue; // the source does not take white space
          assert.equal(cleaned(is[field] ?? ''), cleaned(was[field] ?? ''), `${was.slug}.${field}`);
        }
        assert.deepEqual(names(is), names(was), `groups of ${was.slug}`);
        for (const p of paths) {
          // Beside a word boundary modec's fileRegex takes ASCII only.
          if (/\\b/i.test(JSON.stringify(was.groups)) && /[^\0-\x7f]/.test(p) && !edits(is)(p)) continue;
          assert.equal(edits(is)(p), edits(was)(p), `${was.slug}: edit ${p}`);
        }
      }
    });
  }
}
