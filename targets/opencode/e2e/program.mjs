// The program that opencode-ai runs on this system.
import { join } from 'node:path';

export const program = {
  name: 'opencode', package: 'opencode-linux-x64', plugin: '@opencode-ai/plugin',
  file: join(import.meta.dirname, 'node_modules/opencode-linux-x64/bin/opencode'),
};
