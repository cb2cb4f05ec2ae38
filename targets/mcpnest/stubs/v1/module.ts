import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { Injectable, Scope } from '@nestjs/common';
import type { DynamicModule, Provider } from '@nestjs/common';
import { McpExecutorService } from '@rekog/mcp-nest';
import type { McpOptions } from '@rekog/mcp-nest';
import { answer, guard } from './decide.js';
import type { Unknown } from './decide.js';
import { ENFORCES, POLICY_GUARDS } from './guards.js';

type Server = Parameters<NonNullable<McpOptions['serverMutator']>>[0];
type Schema = { shape?: { method?: { value?: unknown } } };

const unknown: Unknown = (what) => new McpError(ErrorCode.MethodNotFound, `Unknown ${what}`);

/** The method that a schema of a request names. */
function methodOf(schema: unknown): string {
  const method = (schema as Schema).shape?.method?.value;
  if (typeof method !== 'string') throw new Error('modec: a handler of MCP-Nest names no method');
  return method;
}

/** The options of MCP-Nest with the policy before what they do to a server. */
function policed(options: McpOptions): McpOptions {
  const mutate = options.serverMutator ?? ((server: Server) => server);
  const serverMutator = (server: Server) => {
    guard(server.server, methodOf, unknown);
    return mutate(server);
  };
  return { ...options, serverMutator: Object.assign(serverMutator, { [ENFORCES]: true }) };
}

/** Tells a server whose request it answers. */
@Injectable({ scope: Scope.REQUEST })
export class PolicyMcpExecutor extends McpExecutorService {
  override registerRequestHandlers(...bound: Parameters<McpExecutorService['registerRequestHandlers']>): void {
    const [server, request] = bound;
    answer(server.server, request.raw);
    super.registerRequestHandlers(...bound);
  }
}

/** A provider of the module; that of the options gives them with the policy. */
function provider(of: Provider): Provider {
  if (typeof of === 'function' || of.provide !== 'MCP_OPTIONS') return of;
  if ('useValue' in of) return { ...of, useValue: policed(of.useValue as McpOptions) };
  if (!('useFactory' in of)) return of;
  const make = of.useFactory as (...args: unknown[]) => McpOptions | Promise<McpOptions>;
  return { ...of, useFactory: async (...args: unknown[]) => policed(await make(...args)) };
}

/**
 * The module of MCP-Nest with the policy: wrap what McpModule.forRoot or
 * forRootAsync returns. What a principal may not use is not listed, and to name
 * it is to name what does not exist. It decides by the name of a tool, also of
 * one that is registered at run time.
 */
export function withPolicy(module: DynamicModule): DynamicModule {
  const executor = { provide: McpExecutorService, useClass: PolicyMcpExecutor, scope: Scope.REQUEST };
  return { ...module, providers: [...(module.providers ?? []).map(provider), executor, ...POLICY_GUARDS] };
}
