// Holds the emitted tokens and hooks against Cursor's own engine, @cursor/sdk
// 1.0.32. MODEC_OUT is a build of the showcase project, MODEC_BIN the binary,
// MODEC_FIXTURES the other projects.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { hooks, permissions } from './engine.mjs';

const { MODEC_OUT: acme, MODEC_BIN: modec, MODEC_FIXTURE: fixture, MODEC_FIXTURES: fixtures } = process.env;
const json = (...p) => JSON.parse(readFileSync(join(...p), 'utf8'));
const profiles = readdirSync(join(acme, 'session:cursor'));
// The tokens of the baseline are the project's.
const tokens = (build, p) => json(build, p === 'developer' ? '.cursor' : `session:cursor/${p}`, 'cli.json');
const path = `${dirname(modec)}:${process.env.PATH}`;

function explain(project, subject, group, arg) {
  const r = spawnSync(modec, ['explain', '-C', project, subject, group, arg, '--json'], { encoding: 'utf8' });
  const { decision, rule } = JSON.parse(r.stdout);
  if (decision !== 'agent') return decision;
  if (rule.includes('dontAsk')) return 'deny';
  // What is left to Cursor: it reads and writes inside the workspace without asking.
  return group === 'read' || group === 'edit' || rule.includes('bypassPermissions') ? 'allow' : 'ask';
}

test('the engine reads the MCP tokens as the source means them', async () => {
  const { servers } = json(acme, 'session:policy.json');
  for (const p of ['developer', 'guided']) {
    const engine = permissions(tokens(acme, p).permissions);
    for (const s of servers) {
      for (const t of s.tools) {
        const want = explain(fixture, `role:${decodeURIComponent(p)}`, 'mcp', `${s.name}:${t.name}`);
        for (const id of [s.name, `${s.name}::mcpScope:x`, s.name.toUpperCase()]) assert.equal(await engine.mcp(id, t.name), want, `${p} ${id}:${t.name}`);
      }
    }
  }
});

// Behind every token: itself, more words, and a near miss.
const lines = (tokens) =>
  tokens
    .filter((t) => t.startsWith('Shell('))
    .map((t) => t.slice(6, -1).replace(':', ' '))
    .filter((t) => !t.includes('*'))
    .flatMap((t) => [t, `${t} more`, `${t}x`, `${t} a/b --c=d/e`]);

test('the engine approves no command that the source does not allow', () => {
  for (const p of profiles) {
    const list = tokens(acme, p).permissions;
    const engine = permissions(list);
    let approved = 0;
    for (const line of lines([...list.allow, ...list.deny])) {
      const got = engine.command(line);
      const want = explain(fixture, `role:${decodeURIComponent(p)}`, 'command', line);
      if (got === 'allow') {
        approved++;
        assert.equal(want, 'allow', `${p}: ${line}`);
      }
      if (got === 'deny') assert.equal(want, 'deny', `${p}: ${line}`);
    }
    assert.ok(approved > 0 || !list.allow.some((t) => t.startsWith('Shell(')), `${p} approves something`);
  }
});

test('the engine opens no path, and denies what the source denies', async () => {
  const engine = permissions(json(acme, '.cursor/cli.json').permissions);
  for (const [keyword, group] of [['Read', 'read'], ['Write', 'edit']]) {
    for (const file of ['.env', 'a/.env', 'a/b/server.pem', 'secrets/key', 'a/secrets/b/c', 'src/index.ts', 'package.json', 'apps/web/package.json', '.github/workflows/ci.yml']) {
      const want = explain(fixture, 'developer', group, file);
      assert.equal(await engine.denies(keyword, `/home/me/shop/${file}`), want !== 'allow', `${keyword} ${file}`);
      assert.equal(await engine.opens(keyword, `/home/me/shop/${file}`), false);
    }
  }
  assert.equal(engine.host('docs.acme.example'), 'allow');
  assert.equal(engine.host('evil.example'), 'ask');
});

test('a token for a path that begins with a name refuses nothing', async () => {
  for (const glob of ['.env', '.env*', './.env', 'config/.env']) {
    for (const file of ['.env', '.env.local', 'config/.env']) assert.ok(!(await permissions({ allow: [], deny: [`Read(${glob})`] }).denies('Read', `/home/me/shop/${file}`)), `${glob} ${file}`);
  }
  for (const [glob, file] of [['**/.env*', '.env.local'], ['*.pem', 'a/b.pem']]) assert.ok(await permissions({ allow: [], deny: [`Read(${glob})`] }).denies('Read', `/home/me/shop/${file}`), glob);
});

test('without hooks the tokens hold what the source denies', async () => {
  const project = join(fixtures, 'hooks-off');
  const out = mkdtempSync(join(tmpdir(), 'modec-cursor-'));
  execFileSync(modec, ['-q', 'build', '-C', project, '--out', out, '--target', 'cursor'], { stdio: ['ignore', 'ignore', 'inherit'] });
  assert.throws(() => json(out, '.cursor/hooks.json'));
  cpSync(join(fixtures, '../golden/hooks-off/cursor/session'), join(out, 'session:cursor'), { recursive: true });
  for (const subject of readdirSync(join(out, 'session:cursor'))) {
    const engine = permissions(tokens(out, subject).permissions);
    for (const line of ['go test', 'go test ./...', 'go test -exec rm', 'curl x', 'curl https://a.b/c', 'make', './run.sh', '/usr/bin/x']) {
      const want = explain(project, `role:${subject}`, 'command', line);
      const got = engine.command(line);
      if (got === 'allow') assert.equal(want, 'allow', `${subject}: ${line}`);
      if (want === 'deny') assert.equal(got, 'deny', `${subject}: ${line}`);
    }
    for (const [keyword, group] of [['Read', 'read'], ['Write', 'edit']]) {
      for (const file of ['secrets/key', 'a/secrets/b', 'x.pem', 'src/generated/a.go', 'src/a/b.go', 'README.md', '.hidden']) {
        if (explain(project, `role:${subject}`, group, file) !== 'allow') assert.ok(await engine.denies(keyword, `/home/me/shop/${file}`), `${subject}: ${keyword} ${file}`);
      }
    }
  }
});

for (const transport of ['stdin', 'legacy']) {
  test(`the engine's hook runner, payload by ${transport}`, async () => {
    const ask = hooks(json(acme, '.cursor/hooks.json'), acme, path, transport);
    const shell = (command) => ask('beforeShellExecution', { command, cwd: acme, sandbox: false });
    assert.equal(await shell('npm test'), 'none');
    assert.equal(await shell('git push origin main'), 'ask');
    assert.equal(await shell('git push --force origin main'), 'deny');
    assert.equal(await shell("echo 'CURSOR_HOOK_EOF'\nsudo id"), 'deny');
    const github = json(acme, '.cursor/mcp.json').mcpServers.github;
    const runs = github.url ? { url: github.url } : { command: [github.command, ...(github.args ?? [])].join(' ') };
    const mcp = (mcp_server_name, tool_name, what = runs) => ask('beforeMCPExecution', { mcp_server_name, tool_name, tool_input: '{"a":"it\'s"}', ...what });
    assert.equal(await mcp('github', 'list_issues'), 'none');
    assert.equal(await mcp('user-github', 'delete_branch'), 'deny');
    assert.equal(await mcp('github', 'list_issues', { command: 'x' }), 'deny', 'another program under the name');
    assert.equal(await ask('beforeReadFile', { file_path: join(acme, '.env'), content: 'A=1', attachments: [] }), 'deny');
    assert.equal(await ask('beforeReadFile', { file_path: join(acme, 'src/index.ts'), content: '', attachments: [] }), 'none');
    assert.equal(await ask('preToolUse', { tool_name: 'Write', tool_input: { file_path: join(acme, 'db/migrations/applied/1.sql') }, tool_use_id: 'u' }), 'deny');
    assert.equal(await ask('preToolUse', { tool_name: 'Write', tool_input: { file_path: join(acme, 'src/index.ts') }, tool_use_id: 'u' }), 'none');
    assert.equal(await ask('preToolUse', { tool_name: 'Telepathy', tool_input: {}, tool_use_id: 'u' }), 'deny');
  });

  test(`without the binary every call is refused, payload by ${transport}`, async () => {
    const ask = hooks(json(acme, '.cursor/hooks.json'), acme, '/nonexistent', transport);
    assert.equal(await ask('beforeShellExecution', { command: 'npm test', cwd: acme, sandbox: false }), 'deny');
    assert.equal(await ask('beforeReadFile', { file_path: join(acme, 'README.md'), content: '', attachments: [] }), 'deny');
    assert.equal(await ask('preToolUse', { tool_name: 'Write', tool_input: { file_path: join(acme, 'README.md') }, tool_use_id: 'u' }), 'deny');
  });
}
