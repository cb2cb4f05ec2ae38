// Written by modec from the project's source; edits are overwritten.

import 'reflect-metadata';
import { applyDecorators, Injectable, mixin, SetMetadata, UseGuards } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import {
  MCP_PUBLIC_METADATA_KEY,
  MCP_ROLES_MATCH_METADATA_KEY,
  MCP_ROLES_METADATA_KEY,
  MCP_TOOL_METADATA_KEY,
  ToolRoles,
} from '@rekog/mcp-nest';
import type { McpContext } from '@rekog/mcp-nest';
import { ModulesContainer } from '@nestjs/core';
import { ROLE_CLAIMS, TOOL_POLICY } from './policy';
import type { RoleName, ToolName, ToolPolicy } from './policy';
import type { PolicyMcpStrategy } from './strategy';

const MODEC_TOOL = 'modec:tool';

function own(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** A claim by its name; a dotted name is also looked up as a path. */
function claim(user: unknown, name: string): unknown {
  const direct = own(user, name);
  return direct !== undefined ? direct : name.split('.').reduce(own, user);
}

/** Whether the claims of a verified user make a person this role. */
export function holds(user: unknown, role: RoleName): boolean {
  const claims = Object.entries<readonly string[]>(ROLE_CLAIMS[role]);
  return claims.length > 0 && claims.every(([name, accepted]) => {
    const value = claim(user, name);
    const values: unknown[] = Array.isArray(value) ? value : [value];
    return values.some((v) => typeof v === 'string' && accepted.includes(v));
  });
}

const guards = new Map<string, Type<CanActivate>>();

/** The guard class of a role, or of several: any of them may pass. */
export function guardOf(roles: readonly RoleName[]): Type<CanActivate> {
  const key = JSON.stringify(roles);
  let guard = guards.get(key);
  if (guard === undefined) {
    @Injectable()
    class PolicyGuard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const user = userOf(context);
        return user !== undefined && user !== null && roles.some((role) => holds(user, role));
      }
    }
    guard = mixin(PolicyGuard);
    guards.set(key, guard);
  }
  return guard;
}

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

/** Who is listed a tool; a role of nobody where the policy names none. */
function listedTo(policy: ToolPolicy): string[] {
  return policy.listed.length > 0 ? [...policy.listed] : ['modec:nobody'];
}

/** Put this on the method of a tool, beside @Tool: it hides and blocks together. */
export function ToolPolicyFor(tool: ToolName): MethodDecorator {
  const policy: ToolPolicy = TOOL_POLICY[tool];
  const decorators = [SetMetadata(MODEC_TOOL, tool), UseGuards(guardOf(policy.roles))];
  if (policy.hidden) decorators.push(ToolRoles(listedTo(policy), { match: 'any' }));
  return applyDecorators(...decorators);
}

/** Whether another decorator of the method shows the tool to more people. */
function overridden(method: object, policy: ToolPolicy): boolean {
  const shown: unknown = Reflect.getMetadata(MCP_ROLES_METADATA_KEY, method);
  const match: unknown = Reflect.getMetadata(MCP_ROLES_MATCH_METADATA_KEY, method);
  return Boolean(Reflect.getMetadata(MCP_PUBLIC_METADATA_KEY, method))
    || policy.hidden && (JSON.stringify(shown) !== JSON.stringify(listedTo(policy)) || match !== 'any');
}

/** The methods of an object and of the prototypes that it has them from. */
function methods(object: unknown, found: Map<string, object>): void {
  for (let o: unknown = object; typeof o === 'object' && o !== null && o !== Object.prototype; o = Object.getPrototypeOf(o)) {
    for (const key of Object.getOwnPropertyNames(o)) {
      const method: unknown = Object.getOwnPropertyDescriptor(o, key)?.value;
      if (key !== 'constructor' && typeof method === 'function' && !found.has(key)) found.set(key, method);
    }
  }
}

/**
 * Refuses to start an application whose tools are not those of the policy: call
 * it after NestFactory.create. Throws for a tool that the policy does not know,
 * a tool without its decorator, a tool with another tool's decorator, and one
 * whose other decorators take the policy back.
 */
export function assertPolicy(app: INestApplicationContext, strategy: PolicyMcpStrategy): void {
  const problems: string[] = [];
  if (strategy?.hidesByPolicy !== true) problems.push('the strategy is no PolicyMcpStrategy');
  for (const module of app.get(ModulesContainer, { strict: false }).values()) {
    for (const wrapper of [...module.controllers.values(), ...module.providers.values()]) {
      const found = new Map<string, object>();
      methods(wrapper.instance, found); // of a factory or a value there is no class to look at
      methods(typeof wrapper.metatype === 'function' ? wrapper.metatype.prototype : undefined, found);
      for (const [key, method] of found) {
        const metadata: unknown = Reflect.getMetadata(MCP_TOOL_METADATA_KEY, method);
        if (metadata === undefined) continue;
        const named = own(metadata, 'name');
        const tool = typeof named === 'string' && named !== '' ? named : key;
        const decorated: unknown = Reflect.getMetadata(MODEC_TOOL, method);
        const policies: Readonly<Record<string, ToolPolicy>> = TOOL_POLICY;
        const policy = Object.hasOwn(policies, tool) ? policies[tool] : undefined;
        const name = JSON.stringify(tool);
        if (policy === undefined) problems.push(`tool ${name} is not in the policy`);
        else if (decorated === undefined) problems.push(`tool ${name} has no @ToolPolicyFor`);
        else if (decorated !== tool) problems.push(`tool ${name} has the decorator of ${JSON.stringify(decorated)}`);
        else if (overridden(method, policy)) problems.push(`tool ${name} has another decorator that overrides @ToolPolicyFor`);
      }
    }
  }
  if (problems.length > 0) throw new Error(`modec: ${[...new Set(problems)].join('; ')}`);
}
