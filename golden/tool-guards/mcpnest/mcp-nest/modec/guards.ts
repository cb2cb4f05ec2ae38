// Written by modec from the project's source; edits are overwritten.

import 'reflect-metadata';
import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import type { McpContext } from '@rekog/mcp-nest';
import { TOOL_POLICY } from './policy';
import type { ToolName, ToolPolicy } from './policy';
import { guardsBy, MODEC_TOOL, problems, refuse } from './tools';

/**
 * The verified user of the request. In an RPC context the first argument is the
 * caller's own tool arguments, which anybody can fill with a user: the raw
 * request comes from the MCP context.
 */
function userOf(context: ExecutionContext): unknown {
  switch (context.getType<string>()) {
    case 'rpc':
      return context.switchToRpc().getContext<McpContext>().getRawRequest<{ user?: unknown }>()?.user;
    case 'http':
      return context.switchToHttp().getRequest<{ user?: unknown } | undefined>()?.user;
    default:
      return undefined;
  }
}

/** The guard class of a role, or of several: any of them may pass. */
export const guardOf = guardsBy(userOf);

/** Put this on the method of a tool, beside @Tool: a guard that holds where no strategy does. */
export function ToolPolicyFor(tool: ToolName): MethodDecorator {
  return applyDecorators(SetMetadata(MODEC_TOOL, tool), UseGuards(guardOf(TOOL_POLICY[tool].roles)));
}

/** Whether another decorator has taken the guard of a tool away. */
function overridden(method: object, policy: ToolPolicy): boolean {
  const guards: unknown = Reflect.getMetadata('__guards__', method); // @UseGuards
  return !Array.isArray(guards) || !guards.includes(guardOf(policy.roles));
}

/**
 * Refuses to start an application whose tools are not those of the policy: call
 * it after NestFactory.create. Throws for a strategy that does not enforce the
 * policy, a tool that the policy does not know, a tool without its decorator, a
 * tool with another tool's decorator, and one whose other decorators take the
 * policy back.
 */
export function assertPolicy(app: INestApplicationContext, strategy: { readonly enforcesPolicy: true }): void {
  const found = problems(app, overridden);
  if (strategy?.enforcesPolicy !== true) found.push('the strategy is no PolicyMcpStrategy');
  refuse(found);
}
