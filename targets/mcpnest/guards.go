package mcpnest

import "strings"

// stub is what decides the form of the emitted code. The code contains no name of
// the source: those are data, in policy.ts.
type stub struct {
	version int
	suffix  string // of relative imports
	// strategy is set where the list of tools cannot be filtered by user.roles
	// alone, so that the application needs PolicyMcpStrategy (2.x only).
	strategy bool
}

// guards returns guards.ts.
func (s stub) guards() string {
	head, tail := headV2, tailV2
	if s.version == 1 {
		head, tail = headV1, tailV1
	}
	app, check, imports := "app: INestApplicationContext", "", ""
	if s.strategy {
		app += ", strategy: PolicyMcpStrategy"
		check = "  if (strategy?.hidesByPolicy !== true) problems.push('the strategy is no PolicyMcpStrategy');\n"
		imports = "import type { PolicyMcpStrategy } from './strategy" + s.suffix + "';\n"
	}
	fill := strings.NewReplacer("SUFFIX", s.suffix, "STRATEGY_IMPORT", imports, "STRATEGY_CHECK", check, "APP", app)
	return header + fill.Replace(head+common+tail+assert)
}

// index returns index.ts: all that an application imports, and how to use it.
func (s stub) index() string {
	create := "Create the application as ever"
	list := " * 2. MCP-Nest reads `user.roles` as a list only: where a token has a string, make it one.\n"
	call := "assertPolicy(app)"
	files := []string{"guards", "policy"}
	switch {
	case s.version == 1:
		create = "Spread POLICY_GUARDS into the providers of the module"
		list = " * 2. Serve HTTP: without a request there is no user, and every tool is hidden.\n"
	case s.strategy:
		create, call = "Connect a PolicyMcpStrategy in place of McpStrategy", "assertPolicy(app, strategy)"
		files = append(files, "strategy")
	}
	var b strings.Builder
	b.WriteString(header + "/**\n" +
		" * 1. A guard of yours sets `request.user` to the claims of a verified token.\n" + list +
		" * 3. " + create + ", and call " + call + " after NestFactory.create.\n" +
		" * 4. Put @ToolPolicyFor('<tool>') beside each @Tool. Tools that are registered at run\n" +
		" *    time carry no decorator and pass no guard.\n */\n")
	for _, f := range files {
		b.WriteString("export * from './" + f + s.suffix + "';\n")
	}
	return b.String()
}

// strategyTS returns strategy.ts, for 2.x.
func (s stub) strategyTS() string {
	return header + strings.ReplaceAll(strategy, "SUFFIX", s.suffix)
}

const headV2 = `import 'reflect-metadata';
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
`

const headV1 = `import 'reflect-metadata';
import { applyDecorators, Injectable, mixin, SetMetadata } from '@nestjs/common';
import type { CanActivate, ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import { MCP_GUARDS_METADATA_KEY, MCP_TOOL_METADATA_KEY, ToolGuards } from '@rekog/mcp-nest';
`

const common = `import { ModulesContainer } from '@nestjs/core';
import { ROLE_CLAIMS, TOOL_POLICY } from './policySUFFIX';
import type { RoleName, ToolName, ToolPolicy } from './policySUFFIX';
STRATEGY_IMPORT
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
`

const tailV2 = `
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
`

const tailV1 = `
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
`

const assert = `
/** The methods of an object and of the prototypes that it has them from. */
function methods(object: unknown, found: Map<string, object>): void {
  for (let o: unknown = object; typeof o === 'object' && o !== null && o !== Object.prototype;` +
	` o = Object.getPrototypeOf(o)) {
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
export function assertPolicy(APP): void {
  const problems: string[] = [];
STRATEGY_CHECK  for (const module of app.get(ModulesContainer, { strict: false }).values()) {
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
        if (policy === undefined) problems.push(` + "`tool ${name} is not in the policy`" + `);
        else if (decorated === undefined) problems.push(` + "`tool ${name} has no @ToolPolicyFor`" + `);
        else if (decorated !== tool) problems.push(` +
	"`tool ${name} has the decorator of ${JSON.stringify(decorated)}`" + `);
        else if (overridden(method, policy)) problems.push(` +
	"`tool ${name} has another decorator that overrides @ToolPolicyFor`" + `);
      }
    }
  }
  if (problems.length > 0) throw new Error(` + "`modec: ${[...new Set(problems)].join('; ')}`" + `);
}
`

const strategy = `import { McpStrategy } from '@rekog/mcp-nest';
import { holds } from './guardsSUFFIX';
import { TOOL_POLICY } from './policySUFFIX';
import type { ToolPolicy } from './policySUFFIX';

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
`
