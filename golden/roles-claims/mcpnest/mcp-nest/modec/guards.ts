// Written by modec from the project's source; edits are overwritten.

import 'reflect-metadata';
import { applyDecorators, Injectable, mixin, SetMetadata } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import { MCP_GUARDS_METADATA_KEY, MCP_TOOL_METADATA_KEY, ToolGuards } from '@rekog/mcp-nest';
import { ModulesContainer } from '@nestjs/core';
import { ROLE_CLAIMS, TOOL_POLICY } from './policy';
import type { RoleName, ToolName, ToolPolicy } from './policy';

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

/** The verified user of the request; nothing else of it is read. */
function userOf(context: ExecutionContext): unknown {
  return context.getType<string>() === 'http'
    ? context.switchToHttp().getRequest<{ user?: unknown } | undefined>()?.user
    : undefined;
}

/** The guards of every tool: list them in the providers of the module. */
export const POLICY_GUARDS: Type<CanActivate>[] = [
  ...new Set(Object.values<ToolPolicy>(TOOL_POLICY).map((policy) => guardOf(policy.roles))),
];

/** Put this on the method of a tool, beside @Tool: it hides and blocks together. */
export function ToolPolicyFor(tool: ToolName): MethodDecorator {
  const policy: ToolPolicy = TOOL_POLICY[tool];
  return applyDecorators(SetMetadata(MODEC_TOOL, tool), ToolGuards([guardOf(policy.roles)]));
}

/** Whether another @ToolGuards of the method has replaced the policy's: the last one written wins. */
function overridden(method: object, policy: ToolPolicy): boolean {
  const guards: unknown = Reflect.getMetadata(MCP_GUARDS_METADATA_KEY, method);
  return !Array.isArray(guards) || !guards.includes(guardOf(policy.roles));
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
export function assertPolicy(app: INestApplicationContext): void {
  const problems: string[] = [];
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
