import 'reflect-metadata';
import { Injectable, mixin } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { MCP_TOOL_METADATA_KEY } from '@rekog/mcp-nest';
import { holds, own, policyOf } from './decide.js';
import type { RoleName, ToolPolicy } from './policy.js';

/** The metadata key of the tool that @ToolPolicyFor names. */
export const MODEC_TOOL = 'modec:tool';

/** What makes the guard class of some roles, the same one each time. */
export function guardsBy(userOf: (context: ExecutionContext) => unknown) {
  const guards = new Map<string, Type<CanActivate>>();
  return (roles: readonly RoleName[]): Type<CanActivate> => {
    const key = JSON.stringify(roles);
    let guard = guards.get(key);
    if (guard === undefined) {
      @Injectable()
      class PolicyGuard implements CanActivate {
        canActivate(context: ExecutionContext): boolean {
          const user = userOf(context);
          return roles.some((role) => holds(user, role));
        }
      }
      guard = mixin(PolicyGuard);
      guards.set(key, guard);
    }
    return guard;
  };
}

/** Whether another decorator of a method takes the guard of its tool away. */
export type Overridden = (method: object, policy: ToolPolicy) => boolean;

/** The methods of an object and of the prototypes that it has them from. */
function methods(object: unknown, found: Map<string, object>): void {
  let o: unknown = object;
  for (; typeof o === 'object' && o !== null && o !== Object.prototype; o = Object.getPrototypeOf(o)) {
    for (const key of Object.getOwnPropertyNames(o)) {
      const method: unknown = Object.getOwnPropertyDescriptor(o, key)?.value;
      if (key !== 'constructor' && typeof method === 'function' && !found.has(key)) found.set(key, method);
    }
  }
}

/** What is wrong with a method, if it is a tool. */
export function problem(key: string, method: object, overridden: Overridden): string | undefined {
  const metadata: unknown = Reflect.getMetadata(MCP_TOOL_METADATA_KEY, method);
  if (metadata === undefined) return undefined;
  const named = own(metadata, 'name');
  const tool = typeof named === 'string' && named !== '' ? named : key;
  const decorated: unknown = Reflect.getMetadata(MODEC_TOOL, method);
  const policy = policyOf(tool);
  const name = JSON.stringify(tool);
  if (policy === undefined) return `tool ${name} is not in the policy`;
  if (decorated === undefined) return `tool ${name} has no @ToolPolicyFor`;
  if (decorated !== tool) return `tool ${name} has the decorator of ${JSON.stringify(decorated)}`;
  if (overridden(method, policy)) return `tool ${name} has another decorator that overrides @ToolPolicyFor`;
  return undefined;
}

/** What is wrong with the methods of an application. */
export function problems(
  app: INestApplicationContext,
  problem: (key: string, method: object) => string | undefined,
): string[] {
  const found: string[] = [];
  for (const module of app.get(ModulesContainer, { strict: false }).values()) {
    for (const wrapper of [...module.controllers.values(), ...module.providers.values()]) {
      // Of a factory or a value there is no class to look at; bound methods hide those of their class.
      for (const of of [wrapper.instance, typeof wrapper.metatype === 'function' && wrapper.metatype.prototype]) {
        const all = new Map<string, object>();
        methods(of, all);
        for (const [key, method] of all) {
          const wrong = problem(key, method);
          if (wrong !== undefined) found.push(wrong);
        }
      }
    }
  }
  return found;
}

/** Throws what is wrong, each once. */
export function refuse(found: string[]): void {
  if (found.length > 0) throw new Error(`modec: ${[...new Set(found)].join('; ')}`);
}
