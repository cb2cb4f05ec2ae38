// Asks Codex what it does with each plain form of its configuration and its rules.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { forms, place, programs, servers } from '../../internal/asked/forms.mjs';
import { agent } from '../../internal/replay/record.mjs';
import { serve, session } from './session.mjs';

// Not below the folder for temporary files, which a sandbox opens.
const work = realpathSync(mkdtempSync(join(process.env.MODEC_WORK ?? homedir(), '.modec-codex-forms-')));
let http, n = 0;
before(async () => (http = await serve(servers)));
after(() => {
  http.close();
  rmSync(work, { recursive: true, force: true });
});

// A file is read by a command.
const call = {
  read: (file) => ['Bash', { command: `cat ${file}` }],
  edit: (file) => ['apply_patch', { command: `*** Begin Patch\n*** Add File: ${file}\n+x\n*** End Patch\n` }],
  command: (command) => ['Bash', { command }],
  web: () => ['web_search', {}],
  mcp: (tool) => [`mcp__${tool.replace(':', '__')}`, {}],
};

// failed reports whether a command that reads did not, which the sandbox keeps it from.
const failed = ([group], output) => group === 'read' && !/\btext\b/.test(output);

// within says what became of a call of an agent, by its output.
function within([group], output = 'unsupported call', offered) {
  if (group === 'web') return offered ? 'allow' : 'deny';
  return /rejected by user/.test(output) ? 'ask' : /unsupported call|rejected|blocked/.test(output) ? 'deny' : 'allow';
}

async function ask({ config, mode }, calls) {
  const at = join(work, `f${n}`, 'project'), home = join(work, `f${n++}`, 'home');
  place(at, calls);
  spawnSync('git', ['init', '-q'], { cwd: at });
  const lines = (list = []) => list.join('\n').replaceAll('$URL', `http://127.0.0.1:${http.address().port}`) + '\n';
  for (const folder of ['rules', 'agents']) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, 'rules/default.rules'), lines(config['default.rules']));
  if (mode) writeFileSync(join(home, 'agents/docs-writer.toml'), lines(config['docs-writer.toml']));
  const made = calls.map(([group, arg]) => call[group](arg.replace('$ROOT', at)));
  const { became, outputs, agents } = await session({
    at, home, bin: programs(join(work, 'bin')), args: [], config: `${lines(config['config.toml'])}[projects."${at}"]\ntrust_level = "untrusted"`,
    ...(mode ? { calls: [['spawn_agent', { agent_type: 'docs-writer', message: 'go' }]], agents: { WRITER: made } } : { calls: made }),
  });
  if (!mode) return became.map((b, i) => (b === 'allow' && failed(calls[i], outputs[i]) ? 'deny' : b));
  const of = agents.WRITER, offers = of.tools.some((t) => t.type === 'web_search');
  return calls.map((c, i) => within(c, of.outputs[`agent_${i}`], offers));
}

forms(import.meta.dirname, { agent: agent(import.meta.dirname, '@openai/codex'), how: 'program', ask, at: 2 });
