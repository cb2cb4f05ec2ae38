// Written by modec. Before every call of a tool it asks modec, and refuses what modec denies or does not answer.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';

const lines = {"*":"modec hook kilo --root . --subject mode:docs"};
const session = randomUUID(); // of modec, whose first call fixes the project and the policy
const agents = {}; // by session of the program

export const modec = async ({ directory }) => ({
  'chat.message': async ({ sessionID }, { message }) => {
    agents[sessionID] = message.agent;
  },
  'tool.execute.before': async ({ tool, sessionID }, { args }) => {
    const agent = agents[sessionID];
    const line = lines[agent] ?? lines['*'];
    if (agent && !line) return; // the source says nothing about this agent
    const input = JSON.stringify({ session, cwd: directory, tool, agent, args });
    const { status, stdout, stderr } = spawnSync(line, { shell: true, cwd: directory, input, encoding: 'utf8' });
    const { decision, reason } = status === 0 ? JSON.parse(stdout) : { decision: 'deny', reason: stderr };
    if (decision) throw new Error(`modec: ${reason}`);
  },
});
