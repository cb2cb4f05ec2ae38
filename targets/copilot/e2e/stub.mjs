// An MCP server that is a program: its tools are those of the file that is named. Each says of itself that it only reads,
// and that it ran.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { answer } from './program.mjs';

const tools = JSON.parse(readFileSync(process.argv[2], 'utf8'));
for await (const line of createInterface({ input: process.stdin })) {
  const m = JSON.parse(line);
  if (m.id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: answer(tools, m) }) + '\n');
}
