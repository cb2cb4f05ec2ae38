// Asks the real Claude Code what it decides under the emitted settings: a
// stand-in for the Messages API on the loopback interface answers with one tool
// call, and the agent's own result tells what became of it. No login, no
// network. MODEC_OUT is a build of the showcase project, MODEC_BIN the binary.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agent, recording } from '../../internal/replay/record.mjs';

const { MODEC_OUT: acme, MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const claude = join(here, 'node_modules/.bin/claude');

let server, port, calls, offered;
const root = mkdtempSync(join(tmpdir(), 'modec-claude-'));

before(async () => {
  cpSync(acme, root, { recursive: true });
  for (const [name, text] of Object.entries({ 'README.md': 'read me\n', 'src/a.ts': 'let a = 1;\n', '.env': 'SECRET=1\n', 'package.json': '{}\n' })) {
    mkdirSync(join(root, dirname(name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  mkdirSync(join(root, 'bin'));
  symlinkSync(modec, join(root, 'bin/modec'));
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (d) => (body += d));
    req.on('end', () => {
      const data = body ? JSON.parse(body) : {};
      if (!req.url.startsWith('/v1/messages') || req.url.includes('count_tokens')) {
        res.setHeader('content-type', 'application/json');
        return res.end('{"input_tokens":1}');
      }
      const first = (data.tools ?? []).length > 0 && !JSON.stringify(data.messages ?? []).includes('"tool_result"');
      if (first) offered = data.tools.map((t) => t.name);
      const content = first && calls.length > 0 ? calls.map((c, i) => ({ type: 'tool_use', id: `toolu_${i}`, ...c })) : [{ type: 'text', text: 'done' }];
      res.setHeader('content-type', 'text/event-stream');
      const send = (type, o) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...o })}\n\n`);
      send('message_start', { message: { id: 'msg', type: 'message', role: 'assistant', model: data.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } });
      content.forEach((c, index) => {
        if (c.type === 'text') {
          send('content_block_start', { index, content_block: { type: 'text', text: '' } });
          send('content_block_delta', { index, delta: { type: 'text_delta', text: c.text } });
        } else {
          send('content_block_start', { index, content_block: { type: 'tool_use', id: c.id, name: c.name, input: {} } });
          send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(c.input) } });
        }
        send('content_block_stop', { index });
      });
      send('message_delta', { delta: { stop_reason: first && calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } });
      send('message_stop', {});
      res.end();
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  port = server.address().port;
});

after(() => server.close());

// ask runs the agent with one turn of tool calls and returns, for each, allow,
// ask or deny, what it wrote to standard error, and how it said that it began.
async function ask(tools, args, path = join(root, 'bin'), { home = mkdtempSync(join(tmpdir(), 'modec-home-')), cwd = root } = {}) {
  calls = tools;
  offered = [];
  const child = spawn(claude, ['-p', 'hi', '--output-format=stream-json', '--verbose', ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${path}:/usr/bin:/bin`, HOME: home, ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', IS_SANDBOX: '1' },
  });
  let out = '', err = '';
  child.stdout.on('data', (d) => (out += d));
  child.stderr.on('data', (d) => (err += d));
  await new Promise((done) => child.on('close', done));
  const results = {};
  let init = {};
  for (const line of out.split('\n').filter(Boolean)) {
    const m = JSON.parse(line);
    if (m.subtype === 'init') init = m;
    for (const c of m.type === 'user' ? m.message.content : []) {
      if (c.type === 'tool_result') results[c.tool_use_id] = [c.is_error === true, JSON.stringify(c.content)];
    }
  }
  return { err, offered, init, decisions: tools.map((_, i) => verdict(results[`toolu_${i}`], err + out)) };
}

function verdict(result, log) {
  assert.ok(result, `the agent gave no result: ${log.slice(0, 2000)}`);
  const [failed, text] = result;
  if (!failed) return 'allow';
  if (/requires approval|haven't granted|asks first|did not answer|permission to use/i.test(text) && !/may not use/.test(text) && !/has been denied|denied by/.test(text)) return 'ask';
  if (/denied|No such tool|may not use|hook error|blocked/i.test(text)) return 'deny';
  return `error: ${text.slice(0, 300)}`;
}

const settings = (role) => ['--setting-sources=user', `--settings=${join(root, `session:claude/${role}.settings.json`)}`];
const bash = (command) => ({ name: 'Bash', input: { command } });
const write = (file) => ({ name: 'Write', input: { file_path: join(root, file), content: 'x\n' } });
const read = (file) => ({ name: 'Read', input: { file_path: join(root, file) } });

function explain(role, action, arg) {
  try {
    return JSON.parse(execFileSync(modec, ['explain', '-C', fixture, role, action, arg, '--json'], { encoding: 'utf8' })).decision;
  } catch (e) {
    return JSON.parse(e.stdout).decision;
  }
}

// What Claude Code then decides is what the source says, call by call. In -p
// nobody answers a question, so that an ask shows as a call not granted.
const cases = [
  ['git push origin main', 'command'], ['git push --force origin main', 'command'], ['ls -la', 'command'], ['pwd', 'command'], ['sh -c "sudo id"', 'command'], ['/usr/bin/sudo id', 'command'],
  ['README.md', 'read'], ['.env', 'read'], ['src/b.ts', 'edit'], ['.env', 'edit'], ['modec/x.cue', 'edit'], ['package.json', 'read'],
];
const call = (arg, action) => (action === 'command' ? bash(arg) : action === 'read' ? read(arg) : write(arg));

// A role without a hook asks about what its rules cannot refuse: decide.test.mjs has those.
for (const role of ['auditor']) {
  test(`the role ${role} is held to the source`, async () => {
    const { decisions, err } = await ask(cases.map(([arg, action]) => call(arg, action)), settings(role));
    assert.doesNotMatch(err, /skipped|did not load|Malformed|matches no known tool|is not matched/, 'every emitted rule is one that the agent takes');
    assert.deepEqual(Object.fromEntries(cases.map(([arg, action], i) => [`${action} ${arg}`, decisions[i]])), Object.fromEntries(cases.map(([arg, action]) => [`${action} ${arg}`, explain(role, action, arg)])));
  });
}

test('without modec on the path a hook refuses, one of --settings and one that travels', async () => {
  const calls = [bash('touch x'), read('README.md')];
  assert.deepEqual((await ask(calls, settings('auditor'), '/nonexistent')).decisions, ['deny', 'deny']);
  const home = mkdtempSync(join(tmpdir(), 'modec-home-')); // a subagent's hook runs where a person has trusted the folder
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ projects: { [realpathSync(root)]: { hasTrustDialogAccepted: true } } }));
  assert.deepEqual((await ask(calls, ['--agent=code'], '/nonexistent', { home })).decisions, ['deny', 'deny']);
});

// A session without the project's own files has the role's subagents by --agents.
test('a role is started without the settings of the project', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'modec-guided-'));
  cpSync(fixture, dir, { recursive: true });
  execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: 'pipe' });
  const args = started('guided', dir).concat('--agent=orchestrator');
  assert.ok(args.includes('--setting-sources=user') && args.some((a) => a.startsWith('--agents={')), args.join(' '));
  const { offered, decisions } = await ask([at('Write', join(dir, 'src/c.ts'))], args, undefined, { cwd: dir });
  assert.ok(!offered.includes('Write') && !offered.includes('Bash'), offered.join());
  assert.deepEqual(decisions, ['deny']);
});

test('every settings file loads whole', async () => {
  for (const role of ['auditor', 'ci-runner', 'reviewer']) {
    const { err } = await ask([read('README.md')], settings(role));
    assert.doesNotMatch(err, /skipped|did not load|Malformed|matches no known tool|is not matched/, role);
  }
});

test('a mode is an agent with its own tools', async () => {
  const { offered, decisions } = await ask([write('src/c.ts')], ['--agent=orchestrator', '--permission-mode=acceptEdits']);
  assert.ok(!offered.includes('Write') && !offered.includes('Bash'), offered.join());
  assert.deepEqual(decisions, ['deny']);
  assert.match(readFileSync(join(root, '.claude/agents/orchestrator.md'), 'utf8'), /^---\nname: "orchestrator"/);
});

// started returns the arguments with which modec starts a subject of a project, from a folder.
const started = (subject, project, cwd = project) => execFileSync(modec, ['args', subject, '--accept', '-C', project, '--null'], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\0').slice(0, -1);

// project builds a project with a role and a mode that need their hooks.
function project(name) {
  const dir = mkdtempSync(join(tmpdir(), `modec-${name}-`));
  mkdirSync(join(dir, 'modec'));
  mkdirSync(join(dir, 'src/deep'), { recursive: true });
  writeFileSync(join(dir, 'src/a'), 'x\n');
  writeFileSync(join(dir, 'modec.toml'), 'hooks = "enforce"\n[targets.claude]\n');
  writeFileSync(join(dir, 'modec/a.cue'), `package modec
modes: review: {name: "Review", roleDefinition: "You review.", can: {read: "allow", command: allow: ["ls *"]}}
roles: dev: can: {read: "allow", edit: {allow: ["src/**"], default: "deny"}, command: {allow: ["ls *"], default: "deny"}}
`);
  execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: 'pipe' });
  return dir;
}

const at = (name, file) => (name === 'Read' ? { name, input: { file_path: file } } : { name, input: { file_path: file, content: 'x\n' } });

// Without its hook the role would run echo, which only reads.
test('no file of the repository or the user switches the hook of a role off', async () => {
  const dir = project('off'), home = mkdtempSync(join(tmpdir(), 'modec-home-'));
  mkdirSync(join(home, '.claude'));
  for (const file of [join(dir, '.claude/settings.json'), join(home, '.claude/settings.json')]) writeFileSync(file, '{"disableAllHooks": true}');
  const args = started('dev', dir);
  assert.deepEqual((await ask([bash('echo hi'), bash('ls src')], args, undefined, { home, cwd: dir })).decisions, ['deny', 'allow']);
  const reading = args.filter((a) => !a.startsWith('--setting-sources'));
  assert.deepEqual((await ask([bash('echo hi')], reading, undefined, { cwd: dir })).decisions, ['deny']);
});

test("a mode's session is held in a folder that nobody has trusted", async () => {
  const dir = project('untrusted');
  assert.deepEqual((await ask([bash('echo hi'), bash('ls src')], started('review', dir), undefined, { cwd: dir })).decisions, ['deny', 'allow']);
  assert.deepEqual((await ask([bash('echo hi')], ['--agent=review'], undefined, { cwd: dir })).decisions, ['allow'], "the hook of the subagent's file would do");
});

test('a session in a subfolder or in a worktree is held by the policy', async () => {
  const dir = project('worktree'), git = (...args) => execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], { cwd: dir, stdio: 'pipe' });
  const calls = (cwd) => [bash('ls'), bash('echo hi'), at('Read', join(cwd, 'src/a')), at('Write', join(cwd, 'src/n')), at('Write', join(cwd, 'n'))];
  const held = ['allow', 'deny', 'allow', 'allow', 'deny'];
  const sub = join(dir, 'src/deep');
  assert.deepEqual((await ask(calls(dir), started('dev', dir, sub), undefined, { cwd: sub })).decisions, held, 'a subfolder');
  git('init', '-q');
  writeFileSync(join(dir, '.gitignore'), '.modec/\n.claude/\n');
  git('add', '.');
  git('commit', '-qm', 'x');
  const beside = join(mkdtempSync(join(tmpdir(), 'modec-beside-')), 'tree');
  git('worktree', 'add', '-q', beside);
  assert.deepEqual((await ask([...calls(beside), at('Write', join(dir, 'src/m')), at('Write', join(dir, '.modec/m'))], started('dev', dir, beside), undefined, { cwd: beside })).decisions, [...held, 'deny', 'deny'], 'a worktree');
  const inside = join(dir, '.claude/worktrees/x');
  const entered = await ask([{ name: 'EnterWorktree', input: { name: 'x' } }, ...calls(inside)], started('dev', dir), undefined, { cwd: dir });
  assert.deepEqual(entered.decisions, ['allow', ...held], 'a worktree that the session enters');
  rmSync(beside, { recursive: true });
});

// Claude Code anchors a rule with a slash at the folder where the session starts.
test('the rules of a role without a hook hold in a subfolder', async () => {
  const dir = project('anchored [x] y');
  writeFileSync(join(dir, 'modec/b.cue'), `package modec
roles: plain: {permissionMode: "bypassPermissions", can: {read: deny: ["secrets/**"], edit: deny: ["secrets/**"]}}
`);
  mkdirSync(join(dir, 'secrets'));
  writeFileSync(join(dir, 'secrets/key'), 'TOKEN=1\n');
  for (const baseline of ['', 'baseline = "plain"\n']) {
    writeFileSync(join(dir, 'modec.toml'), `${baseline}[targets.claude]\n`);
    execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: 'pipe' });
    for (const cwd of [dir, join(dir, 'src')]) {
      const calls = [at('Read', join(dir, 'secrets/key')), at('Read', join(dir, 'src/a')), at('Write', join(dir, 'secrets/n'))];
      const { decisions } = await ask(calls, started('plain', dir, cwd), undefined, { cwd });
      assert.deepEqual(decisions, ['deny', 'allow', 'deny'], baseline + cwd);
    }
  }
});

// Rules know no time: the hook that a role has for it opens what the rules leave to a question, or to a refusal.
test('an allow with times holds at its times', async () => {
  const dir = project('times');
  writeFileSync(join(dir, 'modec/b.cue'), `package modec
#then: {rule: "touch then", from: "2126-01-01"}
#now: {rule: "touch now", from: "2020-01-01"}
roles: {
	asks: can: command: {default: "ask", allow: [#now, #then]}
	closed: can: command: {default: "deny", allow: [#now, #then]}
}
`);
  execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: 'pipe' });
  const calls = ['touch now', 'touch then', 'touch other'].map(bash);
  for (const [role, ...want] of [['asks', 'allow', 'ask', 'ask'], ['closed', 'allow', 'deny', 'deny']]) {
    assert.deepEqual((await ask(calls, started(role, dir), undefined, { cwd: dir })).decisions, want, role);
  }
});

// A link is judged as what it leads to, whichever tool follows it.
test('a link opens nothing that the role denies', async () => {
  const dir = project('links');
  writeFileSync(join(dir, 'modec/b.cue'), `package modec
roles: keeper: can: {
	read: {deny: ["secrets/**", ".env"], default: "allow"}
	edit: {allow: ["src/**"], default: "deny"}
	command: {allow: ["@readonly_filters"], default: "deny"}
}
`);
  mkdirSync(join(dir, 'secrets'));
  for (const file of ['secrets/key', '.env']) writeFileSync(join(dir, file), 'TOKEN=1\n');
  for (const [to, link] of [['../secrets', 'src/pub'], ['../.env', 'src/note'], ['..', 'src/up'], ['a', 'src/same']]) symlinkSync(to, join(dir, link));
  execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: 'pipe' });
  const cases = [
    [at('Read', join(dir, 'src/same')), 'allow'], [at('Read', join(dir, 'src/pub/key')), 'deny'], [at('Read', join(dir, 'src/note')), 'deny'], [at('Read', join(dir, 'src/up/.env')), 'deny'],
    [bash('head src/same'), 'allow'], [bash('head src/note'), 'deny'], [bash('head < src/pub/key'), 'deny'], [bash('cd src && head up/.env'), 'deny'],
    [at('Write', join(dir, 'src/n')), 'allow'], [at('Write', join(dir, 'src/up/n')), 'deny'],
  ];
  const { decisions } = await ask(cases.map(([c]) => c), started('keeper', dir), undefined, { cwd: dir });
  assert.deepEqual(cases.map(([c], i) => [JSON.stringify(c.input), decisions[i]]), cases.map(([c, want]) => [JSON.stringify(c.input), want]));
});

// What the agent offers is recorded, so that the Go tests fail for a tool, an option or a
// command that modec does not know.
test('the tools, options and commands are those of the record', async () => {
  const tools = new Set(), sorted = (all) => [...new Set(all)].sort();
  let agents = [];
  for (const args of [[], ['--disallowedTools=Bash'], ['--tools=Glob,Grep,LSP,TodoWrite,TaskCreate,TaskGet,TaskList,TaskUpdate,PowerShell'], ['--json-schema={"type":"object"}', '--brief']]) {
    const { offered, init } = await ask([], ['--setting-sources=user', ...args]);
    for (const name of [...offered, ...init.tools]) tools.add(name);
    agents = init.agents;
  }
  const help = execFileSync(claude, ['--help'], { encoding: 'utf8', env: { ...process.env, COLUMNS: '80' } });
  const [options, commands] = help.split('\nCommands:\n');
  const now = {
    agent: agent(here, '@anthropic-ai/claude-code'),
    tools: sorted(tools),
    agents: sorted(agents),
    options: sorted([...options.matchAll(/^ {2}(?:-\w, )?(--.*)$/gm)].flatMap(([, names]) => [...names.split('  ')[0].matchAll(/--[A-Za-z-]+/g)].map(([n]) => n))),
    commands: sorted([...commands.matchAll(/^ {2}([a-z|-]+)/gm)].flatMap(([, names]) => names.split('|'))),
  };
  const file = join(here, 'testdata/offered.json');
  if (recording) writeFileSync(file, JSON.stringify(now, null, 1) + '\n');
  assert.deepEqual(now, JSON.parse(readFileSync(file, 'utf8')), 'make agents records what the agent offers');
});
