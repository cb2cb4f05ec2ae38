// An MCP server with the tools that its arguments name, each of which does nothing.
import { createInterface } from 'node:readline';

const tools = process.argv.slice(2).map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: {} } }));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'test', version: '1' } },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  }[method] ?? {};
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n');
}
