// Written by modec from the project's source; edits are overwritten.

import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { Injectable, Scope } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { McpExecutorService } from '@rekog/mcp-nest';
import { withoutHidden } from './decide';
import type { Handler, Unknown } from './decide';
import { POLICY_GUARDS } from './guards';

type Schema = { shape?: { method?: { value?: unknown } } };
type Registry = { setRequestHandler: (schema: Schema, handler: Handler) => unknown };

const unknown: Unknown = (what) => new McpError(ErrorCode.MethodNotFound, `Unknown ${what}`);

/**
 * Answers in place of MCP-Nest: what a principal may not use is not listed, and
 * to name it is to name what does not exist. It decides by the name of a tool,
 * also of one that is registered at run time.
 */
@Injectable({ scope: Scope.REQUEST })
export class PolicyMcpExecutor extends McpExecutorService {
  /** Tells assertPolicy that the policy is enforced. */
  static readonly enforcesPolicy = true;

  override registerRequestHandlers(...bound: Parameters<McpExecutorService['registerRequestHandlers']>): void {
    const [server, request] = bound;
    const user = () => (request.raw as { user?: unknown } | undefined)?.user;
    const registry = server.server as unknown as Registry;
    const register = registry.setRequestHandler;
    registry.setRequestHandler = (schema, handler) => {
      const method = schema.shape?.method?.value;
      if (typeof method !== 'string') throw new Error('modec: a handler of MCP-Nest names no method');
      return register.call(registry, schema, withoutHidden(method, handler, user, unknown));
    };
    try {
      super.registerRequestHandlers(...bound);
    } finally {
      registry.setRequestHandler = register;
    }
  }
}

/** The module of MCP-Nest with the policy: wrap what McpModule.forRoot or forRootAsync returns. */
export function withPolicy(module: DynamicModule): DynamicModule {
  const executor = { provide: McpExecutorService, useClass: PolicyMcpExecutor, scope: Scope.REQUEST };
  return { ...module, providers: [...(module.providers ?? []), executor, ...POLICY_GUARDS] };
}
