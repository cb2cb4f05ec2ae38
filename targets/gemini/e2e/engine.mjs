// Loads the policy engine and the loaders of Gemini CLI's own package, @google/gemini-cli-core. Nothing of
// them is replaced.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const core = dirname(require.resolve('@google/gemini-cli-core/package.json'));
const load = (file) => import(pathToFileURL(join(core, 'dist/src', file)).href);

const { createPolicyEngineConfig } = await load('policy/config.js');
const { PolicyEngine } = await load('policy/policy-engine.js');
const { coreEvents } = await load('utils/events.js');
const { loadAgentsFromDirectory } = await load('agents/agentLoader.js');

const errors = [];
coreEvents.on('user-feedback', (p) => errors.push(`${p.severity}: ${p.message}`));

// session returns the engine of `gemini` with some files as --policy and as --admin-policy, with somebody there to
// answer, and what its loader says about the files, which it reads for each of the two options.
export async function session(files, home) {
  process.env.GEMINI_CLI_HOME = home;
  errors.length = 0;
  const config = await createPolicyEngineConfig({ policyPaths: files, adminPolicyPaths: files }, 'default', undefined, true);
  config.isTrustedFolder = () => true;
  return { engine: new PolicyEngine(config), errors: [...errors], rules: config.rules.filter((r) => r.source?.startsWith('Admin')).length / 2 };
}

// bySettings returns the engine of a session that has settings and no policy.
export async function bySettings(settings, home) {
  process.env.GEMINI_CLI_HOME = home;
  const config = await createPolicyEngineConfig(settings, 'default', undefined, true);
  config.isTrustedFolder = () => true;
  return new PolicyEngine(config);
}

const words = { allow: 'allow', ask_user: 'ask', deny: 'deny' };

// decide asks about a call of a tool, of a server where it has one, by an agent where it is not the session.
export async function decide(engine, tool, server, args, subagent) {
  const r = await engine.check({ name: tool, args }, server || undefined, server ? { _serverName: server } : undefined, subagent || undefined);
  return words[r.decision];
}

export const agents = (folder) => loadAgentsFromDirectory(folder);
