// Written by modec from the project's source; edits are overwritten.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { McpStrategy } from '@rekog/mcp-nest';
import { withoutHidden } from './decide';
import type { Handler, Unknown } from './decide';

type Registry = { setRequestHandler: (method: string, ...rest: unknown[]) => unknown };

const unknown: Unknown = (what) => new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${what}`);

function keepsSessions(transport: object): boolean {
  return 'statefulMode' in transport && transport.statefulMode === true;
}

/**
 * Connect this strategy in place of McpStrategy: what a principal may not use is
 * not listed, and to name it is to name what does not exist. It decides by the
 * name of a tool, also of one that is registered at run time.
 */
export class PolicyMcpStrategy extends McpStrategy {
  /** Tells the compiler and assertPolicy that the policy is enforced. */
  readonly enforcesPolicy = true as const;

  constructor(...options: ConstructorParameters<typeof McpStrategy>) {
    super(...options);
    if (options[0].transports.some(keepsSessions)) {
      throw new Error('modec: a session may answer as another principal: the transport needs statefulMode: false');
    }
  }

  override bindRequestHandlers(...bound: Parameters<McpStrategy['bindRequestHandlers']>): void {
    const [server, session, rawRequest] = bound;
    if (!session.stateless && session.transport !== 'stdio') throw new Error('modec: sessions are not served');
    const user = () => (rawRequest as { user?: unknown } | undefined)?.user;
    const registry = server.server as unknown as Registry;
    const register = registry.setRequestHandler;
    registry.setRequestHandler = (method, ...rest) => {
      const handler = rest.pop() as Handler;
      return register.call(registry, method, ...rest, withoutHidden(method, handler, user, unknown));
    };
    try {
      super.bindRequestHandlers(...bound);
    } finally {
      registry.setRequestHandler = register;
    }
  }
}
