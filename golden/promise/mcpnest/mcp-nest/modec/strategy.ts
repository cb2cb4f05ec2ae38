// Written by modec from the project's source; edits are overwritten.

import { McpStrategy } from '@rekog/mcp-nest';
import { holds } from './guards';
import { TOOL_POLICY } from './policy';
import type { ToolPolicy } from './policy';

/** Whether a verified user may call a tool; nobody may call one that the policy does not know. */
function mayCall(user: unknown, tool: string): boolean {
  const policies: Readonly<Record<string, ToolPolicy>> = TOOL_POLICY;
  const policy = Object.hasOwn(policies, tool) ? policies[tool] : undefined;
  return user !== undefined && user !== null && policy !== undefined && policy.roles.some((role) => holds(user, role));
}

type Handler = (...args: unknown[]) => unknown;
type Registry = { setRequestHandler: (method: string, ...rest: unknown[]) => unknown };

/**
 * MCP-Nest filters the list of tools by user.roles alone. This strategy filters
 * it by the policy, for roles that other claims make: connect it in place of
 * McpStrategy. Calls are blocked by the guards all the same.
 */
export class PolicyMcpStrategy extends McpStrategy {
  /** Tells the compiler and assertPolicy that the list is filtered. */
  readonly hidesByPolicy = true as const;

  override bindRequestHandlers(...bound: Parameters<McpStrategy['bindRequestHandlers']>): void {
    const [server, , rawRequest] = bound;
    const registry = server.server as unknown as Registry;
    const register = registry.setRequestHandler;
    registry.setRequestHandler = (method, ...rest) => {
      const handler = rest.pop() as Handler;
      if (method !== 'tools/list') return register.call(registry, method, ...rest, handler);
      return register.call(registry, method, ...rest, async (...args: unknown[]) => {
        const list = (await handler(...args)) as { tools: { name: string }[] };
        const user = (rawRequest as { user?: unknown } | undefined)?.user;
        return { ...list, tools: list.tools.filter((tool) => mayCall(user, tool.name)) };
      });
    };
    try {
      super.bindRequestHandlers(...bound);
    } finally {
      registry.setRequestHandler = register;
    }
  }
}
