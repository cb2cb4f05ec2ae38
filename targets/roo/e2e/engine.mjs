// What Roo Code 3.52.1 is made of: the published schema, npm yaml, npm ignore and the engine's own RegExp. The functions are
// Roo's, as src/core/config/CustomModesManager.ts, src/core/tools/validateToolUse.ts and
// src/core/ignore/RooIgnoreController.ts have them.
import { relative, resolve } from 'node:path';
import { customModesSettingsSchema } from '@roo-code/types';
import ignore from 'ignore';
import stripBom from 'strip-bom';
import YAML from 'yaml';

const replaced = { '\u00A0': ' ', '\u200B': '', '\u200C': '', '\u200D': '', '\u2018': "'", '\u2019': "'", '\u201C': '"', '\u201D': '"' };
const clean = (s) => s.replace(/[\u00A0\u200B-\u200D\u2010-\u2015\u2212\u2018\u2019\u201C\u201D]/g, (c) => replaced[c] ?? '-');

// load returns the modes of a file, null where Roo takes none from it.
export function load(text) {
  let data;
  try {
    data = YAML.parse(clean(stripBom(text))) ?? {};
  } catch {
    try {
      data = JSON.parse(text);
    } catch {
      return null;
    }
  }
  if (!data || typeof data !== 'object' || !data.customModes) return null;
  const result = customModesSettingsSchema.safeParse(data);
  return result.success ? result.data.customModes : null;
}

export const groupName = (g) => (typeof g === 'string' ? g : g[0]);

const cwd = '/workspace/project';

export class Controller {
  constructor(content) {
    this.content = content;
    this.ignore = ignore();
    this.ignore.add(content);
    this.ignore.add('.rooignore');
  }

  validateAccess(path) {
    if (!this.content) return true;
    try {
      return !this.ignore.ignores(relative(cwd, resolve(cwd, path)).replace(/\\/g, '/'));
    } catch {
      return true;
    }
  }

  validateCommand(command) {
    if (!this.content) return undefined;
    const parts = command.trim().split(/\s+/);
    if (!['cat', 'less', 'more', 'head', 'tail', 'grep', 'awk', 'sed', 'get-content', 'gc', 'type', 'select-string', 'sls'].includes(parts[0].toLowerCase())) return undefined;
    return parts.slice(1).find((arg) => !arg.startsWith('-') && !arg.startsWith('/') && !arg.includes(':') && !this.validateAccess(arg));
  }
}
