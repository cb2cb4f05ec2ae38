// Written by modec from the project's source; edits are overwritten.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { McpStrategy } from '@rekog/mcp-nest';
import { answer, guard, own } from './decide';
import type { Unknown } from './decide';

type Server = Parameters<McpStrategy['bindRequestHandlers']>[0];
type Options = ConstructorParameters<typeof McpStrategy>[0];

const unknown: Unknown = (what) => new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${what}`);

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
    const serverMutator = (server: Server) => {
      guard(server.server, String, unknown);
      return mutate(server);
    };
    super({ ...options, serverMutator });
  }

  override bindRequestHandlers(...bound: Parameters<McpStrategy['bindRequestHandlers']>): void {
    const [server, session, rawRequest] = bound;
    if (!session.stateless && session.transport !== 'stdio') throw new Error('modec: sessions are not served');
    answer(server.server, rawRequest);
    super.bindRequestHandlers(...bound);
  }
}
