// The program that @kilocode/cli runs on this system.
import { join } from 'node:path';

export const program = {
  name: 'kilo', package: '@kilocode/cli-linux-x64', plugin: '@kilocode/plugin',
  file: join(import.meta.dirname, 'node_modules/@kilocode/cli-linux-x64/bin/kilo'),
};
