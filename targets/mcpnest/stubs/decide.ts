import { RESOURCE_POLICY, ROLE_CLAIMS, TOOL_POLICY } from './policy.js';
import type { ResourcePolicy, RoleClaims, RoleName, ToolPolicy } from './policy.js';

/** A property of a value's own; nothing that it inherits. */
export function own(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** A row of a table; none where the table does not have it. */
function row<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A claim by its name; a dotted name is also looked up as a path. */
function claim(user: unknown, name: string): unknown {
  const direct = own(user, name);
  return direct !== undefined ? direct : name.split('.').reduce(own, user);
}

/** The values of a claim as text; those of scope and scp are words. */
function values(user: unknown, name: string): string[] {
  const value = claim(user, name);
  return (Array.isArray(value) ? value : [value]).flatMap((v: unknown) => {
    if (typeof v === 'string') return name === 'scope' || name === 'scp' ? v.split(' ') : [v];
    return typeof v === 'boolean' || Number.isSafeInteger(v) ? [String(v)] : [];
  });
}

/** Whether a principal has a role: the claims of a verified token, or nothing where there is none. */
export function holds(user: unknown, role: RoleName): boolean {
  const claims = row<RoleClaims>(ROLE_CLAIMS, role);
  if (claims === 'anyone') return true;
  if (claims === undefined || typeof user !== 'object' || user === null) return false;
  if (claims === 'authenticated') return true;
  const all = Object.entries(claims);
  return all.length > 0 && all.every(([name, accepted]) => values(user, name).some((v) => accepted.includes(v)));
}

/** The policy of a tool; none where the policy does not know it. */
export function policyOf(tool: string): ToolPolicy | undefined {
  return row<ToolPolicy>(TOOL_POLICY, tool);
}

/** Whether a principal may call a tool; nobody may call one that the policy does not know. */
export function mayCall(user: unknown, tool: string): boolean {
  return policyOf(tool)?.roles.some((role) => holds(user, role)) === true;
}

/** Whether a principal may read the resources, or get the prompts, of every server of the application. */
export function mayRead(user: unknown, kind: keyof ResourcePolicy): boolean {
  const servers = Object.values<ResourcePolicy>(RESOURCE_POLICY);
  return servers.length > 0 && servers.every((server) => server[kind].some((role) => holds(user, role)));
}

type Handler = (...args: unknown[]) => unknown;

/** What MCP-Nest answers about a name that it does not have. */
export type Unknown = (what: string) => Error;

/** A handler whose list lacks what the policy hides. */
function list(handler: Handler, key: string, shown: (item: unknown) => boolean): Handler {
  return async (...args) => {
    const result = (await handler(...args)) as Record<string, unknown>;
    const items = result[key];
    return { ...result, [key]: Array.isArray(items) ? items.filter(shown) : [] };
  };
}

/** A handler that answers about a hidden name as about one that MCP-Nest does not have. */
function item(
  handler: Handler,
  key: string,
  shown: (name: string) => boolean,
  unknown: (name: string) => Error,
): Handler {
  return async (...args) => {
    const name = String(own(own(args[0], 'params'), key));
    if (!shown(name)) throw unknown(name);
    return handler(...args);
  };
}

/** The handler of a method of MCP as a principal sees it. */
function withoutHidden(method: string, handler: Handler, user: () => unknown, unknown: Unknown): Handler {
  switch (method) {
    case 'tools/list':
      return list(handler, 'tools', (tool) => mayCall(user(), String(own(tool, 'name'))));
    case 'tools/call':
      return item(handler, 'name', (name) => mayCall(user(), name), (name) => unknown(`tool: ${name}`));
    case 'prompts/list':
      return list(handler, 'prompts', () => mayRead(user(), 'prompts'));
    case 'prompts/get':
      return item(handler, 'name', () => mayRead(user(), 'prompts'), (name) => unknown(`prompt: ${name}`));
    case 'resources/list':
      return list(handler, 'resources', () => mayRead(user(), 'resources'));
    case 'resources/templates/list':
      return list(handler, 'resourceTemplates', () => mayRead(user(), 'resources'));
    case 'resources/read':
      return item(handler, 'uri', () => mayRead(user(), 'resources'), (uri) => unknown(`resource: ${uri}`));
    default:
      return handler;
  }
}

/** What a server of either SDK registers its handlers with: a method or its schema, and the handler last. */
type Registry = { setRequestHandler: (method: never, ...rest: never[]) => unknown };

/** The request that each guarded server answers; none before its handlers are bound. */
const requests = new WeakMap<Registry, { user?: unknown } | undefined>();

/** Puts the policy before every handler that a server is ever given. */
export function guard(server: Registry, methodOf: (registered: unknown) => string, unknown: Unknown): void {
  const user = () => requests.get(server)?.user;
  requests.set(server, undefined);
  const registry = server as { setRequestHandler: (method: unknown, ...rest: unknown[]) => unknown };
  const register = registry.setRequestHandler.bind(registry);
  registry.setRequestHandler = (method, ...rest) => {
    const handler = rest.pop() as Handler;
    return register(method, ...rest, withoutHidden(methodOf(method), handler, user, unknown));
  };
}

/** Tells a guarded server whose request it answers. */
export function answer(server: Registry, request: unknown): void {
  if (!requests.has(server)) throw new Error('modec: serverMutator returns another server');
  requests.set(server, request as { user?: unknown } | undefined);
}
