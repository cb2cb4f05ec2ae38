// Asks what Roo Code 3.52.1 is made of about each plain form of its modes, its ignore file and its list of servers. What is
// not refused is asked about: what runs unasked is in a person's own settings, where they count alwaysAllow too. Which tools
// a mode and a server have is Roo's and Zoo Code's source, and so is all of Zoo: nothing of that is run.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { forms } from '../../internal/asked/forms.mjs';
import { agent } from '../../internal/replay/record.mjs';
import { Controller, groupName, load } from './engine.mjs';

const here = dirname(fileURLToPath(import.meta.url));

function ask({ config }, calls) {
  const zoo = config['.zoomodes'];
  const [mode] = zoo ? zoo.customModes : load(JSON.stringify(config['.roomodes']));
  const controller = new Controller((config['.rooignore'] ?? []).join('\n'));
  const group = (name) => mode.groups.find((g) => groupName(g) === name);
  return calls.map(([name, arg]) => {
    const path = arg.startsWith('$ROOT/') ? arg.replace('$ROOT', '/workspace/project') : arg;
    if (name === 'read') return group('read') && controller.validateAccess(path) ? 'ask' : 'deny';
    if (name === 'command') return group('command') && !controller.validateCommand(arg) ? 'ask' : 'deny';
    if (name === 'web') return zoo && group('web') ? 'ask' : 'deny';
    if (name === 'edit') {
      const regex = group('edit')?.[1]?.fileRegex;
      return group('edit') && controller.validateAccess(path) && (!regex || new RegExp(regex).test(path)) ? 'ask' : 'deny';
    }
    const [of, tool] = arg.split(':'), server = config['.roo/mcp.json']?.mcpServers[of];
    if (!group('mcp') || !server || server.disabled || server.disabledTools?.includes(tool)) return 'deny';
    if (mode.allowedMcpServers && !mode.allowedMcpServers.includes(of)) return 'deny';
    return server.alwaysAllow?.includes(tool) ? 'allow' : 'ask';
  });
}
forms(here, { agent: agent(here, '@roo-code/types', 'ignore'), how: 'engine', ask });
