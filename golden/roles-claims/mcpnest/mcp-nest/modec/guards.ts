// Written by modec from the project's source; edits are overwritten.

import 'reflect-metadata';
import { applyDecorators, SetMetadata } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { MCP_GUARDS_METADATA_KEY, ToolGuards } from '@rekog/mcp-nest';
import { own } from './decide';
import { TOOL_POLICY } from './policy';
import type { ToolName, ToolPolicy } from './policy';
import { guardsBy, MODEC_TOOL, problem, problems, refuse } from './tools';

/** The verified user of the request; nothing else of it is read. */
function userOf(context: ExecutionContext): unknown {
  return context.getType<string>() === 'http'
    ? context.switchToHttp().getRequest<{ user?: unknown } | undefined>()?.user
    : undefined;
}

/** The guard class of a role, or of several: any of them may pass. */
export const guardOf = guardsBy(userOf);

/** Marks what withPolicy has put before a server's handlers. */
export const ENFORCES = Symbol('modec:enforces');

/** The guards of every tool; withPolicy provides them. */
export const POLICY_GUARDS: Type<CanActivate>[] = [
  ...new Set(Object.values<ToolPolicy>(TOOL_POLICY).map((policy) => guardOf(policy.roles))),
];

/**
 * Put this on the method of a tool, beside @Tool: a guard that holds where no
 * module does. MCP-Nest keeps the last @ToolGuards alone: this one keeps those
 * that are written below it.
 */
export function ToolPolicyFor(tool: ToolName): MethodDecorator {
  return (target, key, descriptor) => {
    const below: unknown = descriptor.value && Reflect.getMetadata(MCP_GUARDS_METADATA_KEY, descriptor.value);
    const kept = (Array.isArray(below) ? below : []) as Type<CanActivate>[];
    const guarded = applyDecorators(
      SetMetadata(MODEC_TOOL, tool),
      ToolGuards([...kept, guardOf(TOOL_POLICY[tool].roles)]),
    );
    return guarded(target, key, descriptor);
  };
}

/** Whether another @ToolGuards has replaced the guard of a tool: the last one written wins. */
function overridden(method: object, policy: ToolPolicy): boolean {
  const guards: unknown = Reflect.getMetadata(MCP_GUARDS_METADATA_KEY, method);
  return !Array.isArray(guards) || !guards.includes(guardOf(policy.roles));
}

/** What is wrong with the options of a module of MCP-Nest. */
function unsound(options: unknown): string | undefined {
  const transports = [own(options, 'transport') ?? []].flat();
  if (transports.includes('sse')) return 'the transport SSE keeps sessions: use STREAMABLE_HTTP';
  return own(own(options, 'streamableHttp'), 'statelessMode') === true
    ? undefined
    : 'a session answers as who began it: streamableHttp needs statelessMode: true';
}

/**
 * Refuses to start an application whose tools are not those of the policy: call
 * it after NestFactory.create. Throws for a module of MCP-Nest without withPolicy
 * or with sessions, a tool that the policy does not know, a tool without its
 * decorator, a tool with another tool's decorator, and one whose other decorators
 * take the policy back.
 */
export function assertPolicy(app: INestApplicationContext): void {
  const found = problems(app, (key, method) => problem(key, method, overridden));
  for (const module of app.get(ModulesContainer, { strict: false }).values()) {
    if (own(module.instance, '__isMcpModule') !== true) continue;
    const options: unknown = module.getProviderByKey('MCP_OPTIONS')?.instance;
    const mutator = own(options, 'serverMutator') as { [ENFORCES]?: unknown } | undefined;
    if (mutator?.[ENFORCES] !== true) found.push('McpModule is imported without withPolicy');
    const wrong = unsound(options);
    if (wrong !== undefined) found.push(wrong);
  }
  refuse(found);
}
