// Asks Claude Code what it does with each plain form of its settings, in a folder that a person trusts.
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { forms, place as arrange, programs, servers } from '../../internal/asked/forms.mjs';
import { agent } from '../../internal/replay/record.mjs';
import { close, letter, listen, place, prompter, session, stub } from './session.mjs';

const here = dirname(fileURLToPath(import.meta.url));
before(listen);
after(close);

const call = {
  read: (file_path) => ['Read', { file_path }],
  edit: (file_path) => ['Write', { file_path, content: 'x' }],
  command: (command) => ['Bash', { command, description: 'x' }],
  web: (host) => ['WebFetch', { url: `https://${host}/`, prompt: 'x' }],
  mcp: (tool) => [`mcp__${tool.replace(':', '__')}`, {}],
  modes: (subagent_type) => ['Agent', { subagent_type, description: 'x', prompt: 'x' }],
};
const became = { a: 'allow', k: 'ask', d: 'deny' };

async function ask({ config, mode }, calls) {
  const at = place(true);
  const files = { '.claude/settings.json': JSON.stringify(config['settings.json']) };
  const agents = { 'docs-writer': config['docs-writer.md'], ...(calls[0][0] === 'modes' ? Object.fromEntries(calls.map(([, name]) => [name.toLowerCase(), ['---', `name: ${name.toLowerCase()}`, 'description: x', '---', 'x']])) : {}) };
  for (const [name, lines] of Object.entries(agents)) if (lines) files[`.claude/agents/${name}.md`] = lines.join('\n') + '\n';
  arrange(at.root, calls, files);
  programs(at.bin);
  const stubs = calls.some(([group]) => group === 'mcp') ? Object.fromEntries(Object.entries(servers).map(([name, tools]) => [name, { command: process.execPath, args: [stub, ...tools] }])) : {};
  const made = calls.map(([group, arg]) => call[group](arg.replace('$ROOT', 'ROOT'))).map(([name, input]) => ({ name, input }));
  const { results, log } = await session(at, made, ['--strict-mcp-config', ...prompter(stubs), ...(mode ? ['--agent=docs-writer'] : [])]);
  assert.doesNotMatch(JSON.stringify(results), /has not been read yet/, 'a file to write was there');
  return results.map((r) => became[letter(r, log)]);
}
forms(here, { agent: agent(here, '@anthropic-ai/claude-code'), how: 'program', ask, at: 2 });
