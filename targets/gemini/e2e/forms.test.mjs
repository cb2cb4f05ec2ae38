// Asks Gemini CLI's own engine what it does with each plain form of its policies.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forms } from '../../internal/asked/forms.mjs';
import { agent } from '../../internal/replay/record.mjs';
import { decide, session } from './engine.mjs';

const work = mkdtempSync(join(tmpdir(), 'modec-gemini-forms-'));
const call = {
  read: (file_path) => ['read_file', '', { file_path }],
  edit: (file_path) => ['write_file', '', { file_path, content: 'x' }],
  command: (command) => ['run_shell_command', '', { command }],
  web: (host) => ['web_fetch', '', { prompt: `https://${host}/` }],
  mcp: (tool) => [`mcp_${tool.replace(':', '_')}`, tool.split(':')[0], {}],
  modes: (agent_name) => ['invoke_agent', '', { agent_name, prompt: 'x' }],
};

let n = 0;
async function ask({ config, mode }, calls) {
  const at = join(work, `f${n++}`), file = join(at, 'policy.toml');
  mkdirSync(at);
  writeFileSync(file, config['policy.toml'].join('\n') + '\n');
  const { engine, errors } = await session([file], work);
  assert.deepEqual(errors, []);
  const became = [];
  for (const [group, arg] of calls) became.push(await decide(engine, ...call[group](arg.replace('$ROOT', at)), mode ? 'docs-writer' : ''));
  return became;
}
forms(import.meta.dirname, { agent: agent(import.meta.dirname, '@google/gemini-cli-core'), how: 'engine', ask });
