// Asks Copilot CLI what it does with each plain form of its options and agents.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { forms, place, programs, servers } from '../../internal/asked/forms.mjs';
import { agent } from '../../internal/replay/record.mjs';
import { here, program, Project } from './program.mjs';

// Not below the folder for temporary files, where everything may be written.
const work = realpathSync(mkdtempSync(join(process.env.MODEC_WORK ?? homedir(), '.modec-copilot-forms-')));
after(() => rmSync(work, { recursive: true, force: true }));
const bin = programs(join(work, 'bin'));
symlinkSync(program, join(bin, 'copilot'));

const call = {
  read: (path) => ['view', { path }],
  edit: (path) => ['create', { path, file_text: 'x' }],
  command: (command) => ['bash', { command, description: 'x' }],
  web: (host) => ['web_fetch', { url: `https://${host}/` }],
  mcp: (tool) => [tool.replace(':', '-'), {}],
  modes: (agent_type) => ['task', { agent_type, name: 'x', description: 'x', prompt: 'x' }],
};

let n = 0;
async function ask({ config, mode }, calls) {
  const project = Object.assign(Object.create(Project.prototype), { work, bin, at: join(work, `f${n}`, 'project'), home: join(work, `f${n++}`, 'home') });
  const agents = mode ? { '.github/agents/docs-writer.agent.md': config['docs-writer.agent.md'].join('\n') + '\n' } : {};
  place(project.at, calls, agents);
  mkdirSync(project.home);
  spawnSync('git', ['init', '-q'], { cwd: project.at });
  const mcpServers = Object.fromEntries(Object.entries(servers).map(([name, tools]) => [name, { type: 'local', command: process.execPath, args: [join(here, '../../internal/asked/mcp.mjs'), ...tools], tools: config.tools?.[name] ?? ['*'] }]));
  const started = calls.some(([group]) => group === 'mcp') ? ['--additional-mcp-config', JSON.stringify({ mcpServers })] : [];
  // Files are written where they are named: a folder has to be there.
  for (const [group, file] of calls) if (group === 'edit' && !file.includes('..')) mkdirSync(join(project.at, file.replace('$ROOT', ''), '..'), { recursive: true });
  const made = calls.map(([group, arg]) => call[group](group === 'read' || group === 'edit' ? `${project.at}/${arg.replace('$ROOT/', '')}` : arg));
  const { became, outputs } = await project.session(null, made, { args: ['--disable-builtin-mcps', ...config.args, ...started, ...(mode ? ['--agent', 'docs-writer'] : [])], env: { COPILOT_OFFLINE: 'false' } });
  return became.map((b, i) => (outputs[i]?.includes('Command blocked') ? 'deny' : b));
}
forms(here, { agent: agent(here, '@github/copilot-linux-x64'), how: 'program', ask, at: 2 });
