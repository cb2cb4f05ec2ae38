// Written by modec from the project's source; edits are overwritten.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { McpStrategy } from '@rekog/mcp-nest';
import { own, withoutHidden } from './decide';
import type { Handler, Unknown } from './decide';

type Server = Parameters<McpStrategy['bindRequestHandlers']>[0];
type Options = ConstructorParameters<typeof McpStrategy>[0];
type Registry = { setRequestHandler: (method: string, ...rest: unknown[]) => unknown };

const unknown: Unknown = (what) => new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${what}`);

/** The request that a server answers, by the server that is guarded; none before its handlers are bound. */
const requests = new WeakMap<object, { user?: unknown } | undefined>();

/** Puts the policy before every handler that a server is ever given. */
function guarded(server: Server): Server {
  const user = () => requests.get(server.server)?.user;
  requests.set(server.server, undefined);
  const registry = server.server as unknown as Registry;
  const register = registry.setRequestHandler.bind(registry);
  registry.setRequestHandler = (method, ...rest) => {
    const handler = rest.pop() as Handler;
    return register(method, ...rest, withoutHidden(method, handler, user, unknown));
  };
  return server;
}

/** What of the options of a strategy would show what the policy hides. */
function unsound(options: Options): string | undefined {
  for (const transport of options.transports) {
    if (own(transport, 'statefulMode') === true) {
      return 'a session may answer as another principal: the transport needs statefulMode: false';
    }
    if (own(transport, 'stepUp') !== undefined) {
      return 'stepUpAuthorization tells of tools that are hidden: leave it out';
    }
  }
  return Object.values(options.cacheHints ?? {}).some((hint) => hint?.cacheScope === 'public')
    ? "lists differ by principal: no cacheScope may be 'public'"
    : undefined;
}

/**
 * Connect this strategy in place of McpStrategy: what a principal may not use is
 * not listed, and to name it is to name what does not exist. It decides by the
 * name of a tool, also of one that is registered at run time.
 */
export class PolicyMcpStrategy extends McpStrategy {
  /** Tells the compiler and assertPolicy that the policy is enforced. */
  readonly enforcesPolicy = true as const;

  constructor(options: Options) {
    const wrong = unsound(options);
    if (wrong !== undefined) throw new Error(`modec: ${wrong}`);
    const mutate = options.serverMutator ?? ((server: Server) => server);
    super({ ...options, serverMutator: (server) => mutate(guarded(server)) });
  }

  override bindRequestHandlers(...bound: Parameters<McpStrategy['bindRequestHandlers']>): void {
    const [server, session, rawRequest] = bound;
    if (!session.stateless && session.transport !== 'stdio') throw new Error('modec: sessions are not served');
    if (!requests.has(server.server)) throw new Error('modec: serverMutator returns another server');
    requests.set(server.server, rawRequest as { user?: unknown } | undefined);
    super.bindRequestHandlers(...bound);
  }
}
