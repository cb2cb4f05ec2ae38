import 'reflect-metadata';
import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import {
  MCP_PROMPT_METADATA_KEY,
  MCP_RESOURCE_METADATA_KEY,
  MCP_RESOURCE_TEMPLATE_METADATA_KEY,
  MCP_TOOL_METADATA_KEY,
} from '@rekog/mcp-nest';
import type { McpContext } from '@rekog/mcp-nest';
import { TOOL_POLICY } from './policy.js';
import type { ToolName, ToolPolicy } from './policy.js';
import { guardsBy, MODEC_TOOL, problem, problems, refuse } from './tools.js';

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

type PolicyStrategy = { readonly enforcesPolicy: true; readonly transportId: symbol };

/** Put this on the method of a tool, beside @Tool: a guard that holds where no strategy does. */
export function ToolPolicyFor(tool: ToolName): MethodDecorator {
  return applyDecorators(SetMetadata(MODEC_TOOL, tool), UseGuards(guardOf(TOOL_POLICY[tool].roles)));
}

/** Whether another decorator has taken the guard of a tool away. */
function overridden(method: object, policy: ToolPolicy): boolean {
  const guards: unknown = Reflect.getMetadata('__guards__', method); // @UseGuards
  return !Array.isArray(guards) || !guards.includes(guardOf(policy.roles));
}

const METHODS = [
  MCP_TOOL_METADATA_KEY,
  MCP_RESOURCE_METADATA_KEY,
  MCP_RESOURCE_TEMPLATE_METADATA_KEY,
  MCP_PROMPT_METADATA_KEY,
];

/**
 * Refuses to start an application that the policy does not cover: call it after
 * NestFactory.create, with every strategy that is connected. Throws for a
 * strategy that does not enforce the policy, a tool, a resource or a prompt that
 * none of them serves, a tool that the policy does not know, a tool without its
 * decorator or with another tool's, and one whose other decorators take the
 * policy back.
 */
export function assertPolicy(app: INestApplicationContext, ...strategies: [PolicyStrategy, ...PolicyStrategy[]]): void {
  const served = new Set<unknown>(strategies.map((strategy) => strategy?.transportId));
  const found = problems(app, (key, method) => {
    const wrong = problem(key, method, overridden);
    if (wrong !== undefined || !METHODS.some((metadata) => Reflect.hasMetadata(metadata, method))) return wrong;
    const by: unknown = Reflect.getMetadata('microservices:transport', method); // @McpController({ server })
    return served.has(by) ? undefined : `${JSON.stringify(key)} is served by a strategy that is not given here`;
  });
  const enforced = strategies.every((strategy) => strategy?.enforcesPolicy === true);
  if (!enforced) found.push('the strategy is no PolicyMcpStrategy');
  refuse(found);
}
