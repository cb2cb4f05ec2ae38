// Writes NestJS applications around the emitted guards: one that serves a method
// for each tool and counts its calls, and one that is wrong in every way that
// assertPolicy knows. The tools' schema keeps unknown keys, so that a caller can
// send a forged user as an argument.
const quote = JSON.stringify;
const policyFor = (name) => `@ToolPolicyFor(${quote(name)})`;

// toolClass declares a class with a tool for each of [name, decorators]. 2.x
// binds the arguments by a decorator, 1.9 by place.
const toolClass = (version, name, tools, { decorator, bound } = {}) => `
${decorator ?? (version === 2 ? '@McpController()' : '@Injectable()')}
class ${name} {${bound ? 'constructor() { this.t0 = this.t0.bind(this); }' : ''}${tools.map(([tool, decorators], i) => `
  @Tool({ name: ${quote(tool)}, description: 'a tool', parameters: z.looseObject({}) })
  ${decorators}
  t${i}(${version === 2 ? '@Payload() ' : ''}_args: unknown) {
    calls.set(${quote(tool)}, (calls.get(${quote(tool)}) ?? 0) + 1);
    return { content: [{ type: 'text', text: 'done' }] };
  }`).join('\n')}
}
`;

const imports = {
  2: `import { Payload } from '@nestjs/microservices';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { McpController, McpHttpControllerFor, McpStrategy, Prompt, PublicTool, Resource, ResourceTemplate, StdioTransport, StreamableHttpTransport, Tool, ToolRoles } from '@rekog/mcp-nest';`,
  1: `import { McpModule, McpRegistryService, McpTransportType, Prompt, PublicTool, Resource, ResourceTemplate, Tool, ToolGuards, ToolRoles } from '@rekog/mcp-nest';`,
};

// others are the resources and prompts of an application; the template takes every address of its scheme.
const others = (version) => `
${version === 2 ? '@McpController()' : '@Injectable()'}
class Others {
  @Resource({ uri: 'mcp://motd', name: 'motd', description: 'a resource', mimeType: 'text/plain' })
  motd(${version === 2 ? '@Payload() ' : ''}_args: unknown) { return { contents: [{ uri: 'mcp://motd', text: 'secret' }] }; }
  @ResourceTemplate({ uriTemplate: 'shop://{id}', name: 'item', description: 'a template', mimeType: 'text/plain' })
  item(${version === 2 ? '@Payload() ' : ''}_args: unknown) { return { contents: [{ uri: 'shop://7', text: 'secret' }] }; }
  @Prompt({ name: 'greet', description: 'a prompt' })
  greet(${version === 2 ? '@Payload() ' : ''}_args: unknown) { return { messages: [{ role: 'user', content: { type: 'text', text: 'secret' } }] }; }
}
`;

const head = (version) => `import 'reflect-metadata';
import { Controller, Get, Injectable, Module, SetMetadata, UseGuards } from '@nestjs/common';
import type { CanActivate, DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { z } from 'zod';
${imports[version]}
import * as policy from './modec/index';
const { assertPolicy, ToolPolicyFor } = policy;

const calls = new Map<string, number>();

@Controller('calls')
class Calls {
  @Get()
  all() {
    return Object.fromEntries(calls);
  }
}

@Injectable()
class Passes implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}
`;

// Tools that appear while the application runs: one in the place of a tool of
// the policy, and one that the policy does not know.
const dynamic = (registry) => `
  for (const name of ['get_order', 'unheard_of']) {
    ${registry}.registerTool({
      name,
      description: 'a tool',
      parameters: z.looseObject({}),
      isPublic: true,
      handler: async () => {
        calls.set(name, (calls.get(name) ?? 0) + 1);
        return { content: [{ type: 'text', text: 'done' }] };
      },
    });
  }
`;

// connect is what an application for 2.x does before it listens.
const connect = `  assertPolicy(app, strategy);
  strategy.setHttpAdapter(app.getHttpAdapter());
  app.connectMicroservice<MicroserviceOptions>({ strategy });
  await app.startAllMicroservices();
`;

const ready = `
  console.log('READY ' + (app.getHttpServer().address() as { port: number }).port);
}
void main();
`;

// serve is an application of every tool, as a user would write it.
export const serve = {
  2: (names) => `${head(2)}
const transport = new StreamableHttpTransport({ statefulMode: false, enableJsonResponse: true });
const strategy = new policy.PolicyMcpStrategy({ name: 'shop', version: '1.0.0', transports: [transport] });

@Controller('mcp')
@UseGuards(policy.TokenGuard)
class Endpoint extends McpHttpControllerFor(transport) {}
${others(2)}${toolClass(2, 'Tools', names.map((n) => [n, policyFor(n)]))}
@Module({ controllers: [Calls, Endpoint, Others, Tools] })
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
${connect}${dynamic('strategy')}
  await app.listen(0, '127.0.0.1');${ready}`,
  1: (names) => `${head(1)}
${others(1)}${toolClass(1, 'Tools', names.map((n) => [n, policyFor(n)]))}
const mcp = McpModule.forRoot({ name: 'shop', version: '1.0.0', transport: McpTransportType.STREAMABLE_HTTP, guards: [policy.TokenGuard], streamableHttp: { enableJsonResponse: true, statelessMode: true } });

@Module({ imports: [policy.withPolicy(mcp)], providers: [Tools, Others], controllers: [Calls] })
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
  assertPolicy(app);
${dynamic('app.get(McpRegistryService, { strict: false })')}
  await app.listen(0, '127.0.0.1');${ready}`,
};

const mutator = `serverMutator: (server) => {
    server.registerPrompt('mutated', { description: 'a prompt' }, () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'secret' } }] }));
    server.registerResource('mutated', 'mcp://mutated', {}, () => ({ contents: [{ uri: 'mcp://mutated', text: 'secret' }] }));
    return server;
  }`;

// mutated is an application whose server has prompts and resources that MCP-Nest does not know.
export const mutated = {
  2: `${head(2)}
const transport = new StreamableHttpTransport();
const strategy = new policy.PolicyMcpStrategy({ name: 'shop', version: '1.0.0', transports: [transport], ${mutator} });

@Controller('mcp')
@UseGuards(policy.TokenGuard)
class Endpoint extends McpHttpControllerFor(transport) {}
${toolClass(2, 'Tools', [['get_order', policyFor('get_order')]])}
@Module({ controllers: [Calls, Endpoint, Tools] })
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
${connect}  await app.listen(0, '127.0.0.1');${ready}`,
  1: `${head(1)}
${toolClass(1, 'Tools', [['get_order', policyFor('get_order')]])}
const mcp = McpModule.forRootAsync({ useFactory: async () => ({ name: 'shop', version: '1.0.0', guards: [policy.TokenGuard], ${mutator} }) });
const http = McpModule.forRoot({ name: 'shop', version: '1.0.0', transport: McpTransportType.STREAMABLE_HTTP, guards: [policy.TokenGuard], ${mutator} });
export const unused: DynamicModule = policy.withPolicy(mcp);

@Module({ imports: [policy.withPolicy(http)], providers: [Tools], controllers: [Calls] })
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
  assertPolicy(app);
  await app.listen(0, '127.0.0.1');${ready}`,
};

// wrong are applications that assertPolicy refuses, and what it says; `sound`
// it takes. provide says how Nest comes by the class.
const asClass = (name) => `{ controllers: [${name}] }`;
const asProvider = (name) => `{ providers: [${name}] }`;
const overrides = 'modec: tool "get_order" has another decorator that overrides @ToolPolicyFor';
// A decorator that puts another function in the place of the method, as a cache does.
const wrapped = `((_target: object, _key: string | symbol, d: PropertyDescriptor) => { const f = d.value; d.value = function (this: unknown, ...args: unknown[]) { return f.apply(this, args); }; }) as MethodDecorator`;
const common = {
  sound: { tools: [['get_order', policyFor('get_order')], ['list_orders', policyFor('list_orders')]], says: 'accepted' },
  undecorated: { tools: [['get_order', '']], says: 'modec: tool "get_order" has no @ToolPolicyFor' },
  swapped: { tools: [['get_order', policyFor('list_orders')]], says: 'modec: tool "get_order" has the decorator of "list_orders"' },
  unknown: { tools: [['drop_all', policyFor('list_orders')]], says: 'modec: tool "drop_all" is not in the policy' },
  inherited: { tools: [['constructor', policyFor('list_orders')]], says: 'modec: tool "constructor" is not in the policy' },
  all: { tools: [['get_order', ''], ['drop_all', '']], says: 'modec: tool "get_order" has no @ToolPolicyFor; tool "drop_all" is not in the policy' },
  wrapped: { tools: [['get_order', `@(${wrapped}) ${policyFor('get_order')}`]], says: 'modec: tool "get_order" has no @ToolPolicyFor' },
  // These change what MCP-Nest would do, and nothing that the policy decides.
  public: { tools: [['get_order', `@PublicTool() ${policyFor('get_order')}`]], says: 'accepted' },
  shown: { tools: [['get_product', `@ToolRoles(['everyone']) ${policyFor('get_product')}`]], says: 'accepted' },
};
const mcpModule = (options, wrap = true) => (name) => `{ imports: [${wrap ? 'policy.withPolicy' : 'same'}(McpModule.forRoot({ name: 'shop', version: '1', ${options} }))], providers: [${name}] }`;
const http = 'transport: McpTransportType.STREAMABLE_HTTP';
const session = 'modec: a session answers as who began it: streamableHttp needs statelessMode: true';
const order = [['get_order', policyFor('get_order')]];
export const wrong = {
  2: {
    ...common,
    emptied: { tools: [['get_order', `@SetMetadata('__guards__', []) ${policyFor('get_order')}`]], says: overrides },
    more: { tools: [['get_order', `@UseGuards(Passes) ${policyFor('get_order')} @UseGuards(Passes)`]], says: 'accepted' },
    strategy: { tools: order, strategy: 'plain as never', says: 'modec: the strategy is no PolicyMcpStrategy' },
    named: { tools: order, decorator: "@McpController({ server: 'admin' })", says: 'modec: "t0" is served by a strategy that is not given here' },
    both: { tools: order, decorator: "@McpController({ server: 'admin' })", strategy: 'strategy, new policy.PolicyMcpStrategy({ ...options, server: "admin" })', says: 'accepted' },
    bound: { tools: [['get_order', '']], bound: true, says: 'modec: tool "get_order" has no @ToolPolicyFor' },
  },
  1: {
    ...common,
    replaced: { tools: [['get_order', `@ToolGuards([Passes]) ${policyFor('get_order')}`]], says: overrides },
    kept: { tools: [['get_order', `${policyFor('get_order')} @ToolGuards([Passes])`]], says: 'accepted' },
    // 1.9 finds tools on what a factory or a value provides.
    factory: { tools: [['get_order', '']], provide: (name) => `{ providers: [{ provide: 'tools', useFactory: () => new ${name}() }] }`, says: 'modec: tool "get_order" has no @ToolPolicyFor' },
    value: { tools: [['get_order', '']], provide: (name) => `{ providers: [{ provide: 'tools', useValue: new ${name}() }] }`, says: 'modec: tool "get_order" has no @ToolPolicyFor' },
    controller: { tools: [['get_order', '']], provide: (name) => `{ controllers: [${name}] }`, says: 'modec: tool "get_order" has no @ToolPolicyFor' },
    module: { tools: order, provide: mcpModule(http), says: 'accepted' },
    stateless: { tools: order, provide: mcpModule(`${http}, streamableHttp: { statelessMode: true }`), says: 'accepted' },
    bare: { tools: order, provide: mcpModule(http, false), says: 'modec: McpModule is imported without withPolicy' },
    stateful: { tools: order, provide: mcpModule(`${http}, streamableHttp: { statelessMode: false }`), says: session },
    // What is not written here is not the default: MCP-Nest replaces the whole of it.
    half: { tools: order, provide: mcpModule(`${http}, streamableHttp: { enableJsonResponse: true }`), says: session },
    sse: { tools: order, provide: mcpModule(`transport: [McpTransportType.SSE, McpTransportType.STREAMABLE_HTTP]`), says: 'modec: the transport SSE keeps sessions: use STREAMABLE_HTTP' },
    everything: { tools: order, provide: mcpModule(''), says: 'modec: the transport SSE keeps sessions: use STREAMABLE_HTTP' },
  },
};

// judge prints what assertPolicy says of each wrong application.
export const judge = (version) => `${head(version)}
${version === 2 ? `const options = { name: 'shop', version: '1.0.0', transports: [new StreamableHttpTransport({ statefulMode: false }), new StdioTransport()] };
const strategy = new policy.PolicyMcpStrategy(options);
const plain = new McpStrategy(options);
// The compiler demands the strategy that hides, too.
export function unsound(app: Parameters<typeof assertPolicy>[0]): void {
  // @ts-expect-error any other strategy lists tools to everybody
  assertPolicy(app, plain);
  // @ts-expect-error the strategy is missing
  assertPolicy(app);
}
for (const [name, more] of Object.entries({
  sessions: { transports: [new StreamableHttpTransport({ statefulMode: true })] },
  stepUp: { transports: [new StreamableHttpTransport({ stepUpAuthorization: true })] },
  cached: { cacheHints: { 'tools/list': { ttlMs: 1, cacheScope: 'public' as const } } },
  cachedApart: { cacheHints: { 'tools/list': { ttlMs: 1, cacheScope: 'private' as const } } },
})) {
  let said = 'accepted';
  try {
    new policy.PolicyMcpStrategy({ ...options, ...more });
  } catch (e) {
    said = (e as Error).message;
  }
  console.log(JSON.stringify([name, said]));
}` : `const same = (module: DynamicModule) => module;`}
// @ts-expect-error a tool that the policy does not know
export const misspelt = () => ToolPolicyFor('get_ordre');
export const unused: (DynamicModule | typeof Passes)[] = [];
${Object.entries(wrong[version]).map(([name, app]) => `${toolClass(version, `Tools_${name}`, app.tools, app)}
@Module(${(app.provide ?? (version === 2 ? asClass : asProvider))(`Tools_${name}`)})
class Module_${name} {}`).join('\n')}

async function main() {
  for (const [name, module, assert] of [
${Object.entries(wrong[version]).map(([name, app]) => `    [${quote(name)}, Module_${name}, (app) => assertPolicy(app${version === 2 ? `, ${app.strategy ?? 'strategy'}` : ''})],`).join('\n')}
  ] satisfies [string, new () => object, (app: Parameters<typeof assertPolicy>[0]) => void][]) {
    const app = await NestFactory.create(module, { logger: false });
    let says = 'accepted';
    try {
      assert(app);
    } catch (e) {
      says = (e as Error).message;
    }
    console.log(JSON.stringify([name, says]));
    await app.close();
  }
  process.exit();
}
void main();
`;
