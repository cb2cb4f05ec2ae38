// Written by modec. opencode asks modec before every call of a tool, by the command beside this file's name in the
// settings. What modec denies ends in an error, which opencode takes for a refusal, and so does whatever is no answer.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

const refuse = (why) => {
  throw new Error(`modec: ${why}`);
};

// answer runs a command by a shell, hands it a call, and returns what it prints.
const answer = (command, cwd, call) =>
  new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], { cwd });
    const told = { out: '', err: '' };
    child.stdout.on('data', (d) => (told.out += d));
    child.stderr.on('data', (d) => (told.err += d));
    child.stdin.on('error', () => {}); // it answers without reading
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve(told.out) : reject(new Error(told.err.trim() || `the hook ended with ${code}`))));
    child.stdin.end(JSON.stringify(call));
  });

export const server = async ({ directory }, options) => {
  const agents = new Map(); // by session
  const session = randomUUID(); // of modec: the project and the policy are those of the start
  return {
    'chat.message': async ({ sessionID }, { message }) => {
      agents.set(sessionID, message.agent);
    },
    'tool.execute.before': async ({ tool, sessionID }, { args }) => {
      const agent = agents.get(sessionID) ?? refuse('nobody knows which agent calls');
      const { command, agents: of } = options ?? refuse('the plugin is listed without the command that it runs');
      const line = Object.hasOwn(of ?? {}, agent) ? of[agent] : command;
      if (line === undefined && of) return; // nothing of the source is about such a session
      if (!line) refuse('the plugin is listed without the command that it runs');
      const told = answer(line, directory, { session, cwd: directory, tool, agent, args });
      const { decision, reason } = await told.then(JSON.parse).catch((e) => refuse(e.message));
      if (decision !== undefined) refuse(reason);
    },
  };
};
