// Written by modec from the project's source; edits are overwritten.

import 'reflect-metadata';
import { applyDecorators, Injectable, mixin, SetMetadata } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import { MCP_TOOL_METADATA_KEY, ToolGuards } from '@rekog/mcp-nest';
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

/** The guard for a set of roles: any of them may pass. */
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
export const POLICY_GUARDS: Type<CanActivate>[] = Object.values(TOOL_POLICY).map((policy: ToolPolicy) => guardOf(policy.roles));

/** Put this on the method of a tool, beside @Tool: it hides and blocks together. */
export function ToolPolicyFor(tool: ToolName): MethodDecorator {
  const policy: ToolPolicy = TOOL_POLICY[tool];
  return applyDecorators(SetMetadata(MODEC_TOOL, tool), ToolGuards([guardOf(policy.roles)]));
}

/** The methods of a class and of those that it extends. */
function methods(type: unknown): Map<string, object> {
  const found = new Map<string, object>();
  let prototype: unknown = typeof type === 'function' ? type.prototype : undefined;
  while (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype) {
    for (const key of Object.getOwnPropertyNames(prototype)) {
      const method: unknown = Object.getOwnPropertyDescriptor(prototype, key)?.value;
      if (typeof method === 'function' && !found.has(key)) found.set(key, method);
    }
    prototype = Object.getPrototypeOf(prototype);
  }
  return found;
}

/**
 * Refuses to start an application whose tools are not those of the policy: call
 * it after NestFactory.create. Throws for a tool that the policy does not know,
 * a tool without its decorator, and a tool with another tool's decorator.
 */
export function assertPolicy(app: INestApplicationContext): void {
  const problems: string[] = [];
  for (const module of app.get(ModulesContainer, { strict: false }).values()) {
    for (const wrapper of [...module.controllers.values(), ...module.providers.values()]) {
      for (const [key, method] of methods(wrapper.metatype)) {
        const metadata: unknown = Reflect.getMetadata(MCP_TOOL_METADATA_KEY, method);
        if (metadata === undefined) continue;
        const named = own(metadata, 'name');
        const tool = typeof named === 'string' && named !== '' ? named : key;
        const decorated: unknown = Reflect.getMetadata(MODEC_TOOL, method);
        if (!Object.hasOwn(TOOL_POLICY, tool)) problems.push(`tool ${JSON.stringify(tool)} is not in the policy`);
        else if (decorated === undefined) problems.push(`tool ${JSON.stringify(tool)} has no @ToolPolicyFor`);
        else if (decorated !== tool) problems.push(`tool ${JSON.stringify(tool)} has the decorator of ${JSON.stringify(decorated)}`);
      }
    }
  }
  if (problems.length > 0) throw new Error(`modec: ${[...new Set(problems)].join('; ')}`);
}
