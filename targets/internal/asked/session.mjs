// Asks opencode, or a program that is made of it, about its plain forms.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before } from 'node:test';
import { agent } from '../replay/record.mjs';
import { forms, place, programs, servers } from './forms.mjs';
import { Server } from './program.mjs';

const call = {
  read: (path) => ['read', { filePath: path }],
  edit: (path) => ['write', { filePath: path, content: 'x' }],
  command: (command) => ['bash', { command, description: 'x' }],
  web: (host) => ['webfetch', { url: `https://${host}/`, format: 'text', timeout: 1 }],
  mcp: (tool) => [tool.replace(':', '_'), {}],
  modes: (name) => ['task', { subagent_type: name, description: 'x', prompt: 'x' }],
};

export function answers(here, program) {
  const work = mkdtempSync(join(tmpdir(), `modec-${program.name}-forms-`));
  let server, n = 0;
  before(async () => (server = await Server.start(program, { PATH: programs(join(work, 'bin')) + delimiter + process.env.PATH })));
  after(() => server.stop());

  const ask = async ({ config, mode }, calls) => {
    const folder = place(join(work, `f${n++}`, 'project'), calls);
    spawnSync('git', ['init', '-q', '.'], { cwd: folder });
    const mcp = calls.some(([group]) => group === 'mcp') ? Object.fromEntries(Object.entries(servers).map(([name, tools]) => [name, { type: 'local', command: [process.execPath, join(import.meta.dirname, 'mcp.mjs'), ...tools] }])) : {};
    writeFileSync(join(folder, `${program.name}.json`), JSON.stringify({ ...config, mcp }));
    const made = calls.map(([group, arg]) => {
      const file = group === 'read' || group === 'edit';
      return call[group](file ? (arg.startsWith('$ROOT') ? arg.replace('$ROOT', folder) : arg) : arg);
    });
    return server.decide(folder, mode ? 'docs-writer' : undefined, made);
  };
  forms(here, { agent: agent(here, program.package), how: 'program', ask });
}
