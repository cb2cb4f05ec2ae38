// Asks Cursor's own engine what it does with each plain form of cli.json. A line is taken apart by a helper that is not run:
// here it is at its operators, as the vendor's source says, and other lines stay unknown. What no token denies is read
// and edited: by the source neither is asked about.
import { join } from 'node:path';
import { forms } from '../../internal/asked/forms.mjs';
import { agent } from '../../internal/replay/record.mjs';
import { permissions } from './engine.mjs';

const root = '/home/me/shop';

async function ask({ config }, calls) {
  const engine = permissions(config['cli.json'].permissions);
  const became = [];
  for (const [group, arg] of calls) {
    const path = join(root, arg.replace('$ROOT/', ''));
    if (group === 'read' || group === 'edit') became.push((await engine.denies(group === 'read' ? 'Read' : 'Write', path)) ? 'deny' : 'allow');
    else if (group === 'command' && /["'\\`$()<>#=]|&(?!&)(?<!&&)|  /.test(arg)) became.push('unknown');
    else if (group === 'command') {
      const each = arg.split(/ *(?:&&|\|\||[;|\n]) */).map(engine.command);
      became.push(['deny', 'ask', 'allow'].find((d) => each.includes(d)));
    } else if (group === 'web') became.push(engine.host(new URL(`https://${arg}/`).hostname).replace('deny', 'ask')); // it is only not on the list of what is allowed
    else if (group === 'mcp') became.push(await engine.mcp(...arg.split(':')));
    else became.push('unknown');
  }
  return became;
}
forms(import.meta.dirname, { agent: agent(import.meta.dirname, '@cursor/sdk'), how: 'engine', ask });
