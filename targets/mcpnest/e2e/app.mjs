// Writes NestJS applications around the emitted guards: one that serves a method
// for each tool and counts its calls, and one that is wrong in every way that
// assertPolicy knows. The tools' schema keeps unknown keys, so that a caller can
// send a forged user as an argument.
const quote = JSON.stringify;
const policyFor = (name) => `@ToolPolicyFor(${quote(name)})`;

// toolClass declares a class with a tool for each of [name, decorators]. 2.x
// binds the arguments by a decorator, 1.9 by place.
const toolClass = (version, name, tools) => `
${version === 2 ? '@McpController()' : '@Injectable()'}
class ${name} {${tools.map(([tool, decorators], i) => `
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
import { McpController, McpHttpControllerFor, McpStrategy, PublicTool, StreamableHttpTransport, Tool, ToolRoles } from '@rekog/mcp-nest';`,
  1: `import { McpModule, McpTransportType, Tool, ToolGuards } from '@rekog/mcp-nest';`,
};

const head = (version) => `import 'reflect-metadata';
import { createHmac } from 'node:crypto';
import { Controller, Get, Injectable, Module, UnauthorizedException, UseGuards } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
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
class JwtGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    const [head = '', body = '', mac] = String(request.headers.authorization ?? '').replace('Bearer ', '').split('.');
    const want = createHmac('sha256', 'secret').update(head + '.' + body).digest('base64url');
    const part = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
    if (mac !== want || part(head).alg !== 'HS256') throw new UnauthorizedException('invalid token');
    const claims = part(body);
    if (!(claims.exp > Date.now() / 1000) || claims.aud !== 'shop') throw new UnauthorizedException('invalid token');
    request.user = claims;
    return true;
  }
}
`;

// serve is an application of every tool, as a user would write it.
export const serve = {
  2: (names) => `${head(2)}
const transport = new StreamableHttpTransport({ statefulMode: false, enableJsonResponse: true });
const options = { name: 'shop', version: '1.0.0', transports: [transport] };
const strategy = new policy.PolicyMcpStrategy(options);

@Controller('mcp')
@UseGuards(JwtGuard)
class Endpoint extends McpHttpControllerFor(transport) {}
${toolClass(2, 'Tools', names.map((n) => [n, policyFor(n)]))}
@Module({ controllers: [Calls, Endpoint, Tools] })
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
  assertPolicy(app, strategy);
  strategy.setHttpAdapter(app.getHttpAdapter());
  app.connectMicroservice<MicroserviceOptions>({ strategy });
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  console.log('READY ' + (app.getHttpServer().address() as { port: number }).port);
}
void main();
`,
  1: (names) => `${head(1)}
${toolClass(1, 'Tools', names.map((n) => [n, policyFor(n)]))}
@Module({
  imports: [McpModule.forRoot({ name: 'shop', version: '1.0.0', transport: McpTransportType.STREAMABLE_HTTP, guards: [JwtGuard], streamableHttp: { enableJsonResponse: true, statelessMode: true } })],
  providers: [Tools, JwtGuard, ...policy.POLICY_GUARDS],
  controllers: [Calls],
})
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
  assertPolicy(app);
  await app.listen(0, '127.0.0.1');
  console.log('READY ' + (app.getHttpServer().address() as { port: number }).port);
}
void main();
`,
};

// wrong are applications that assertPolicy refuses, and what it says; `sound`
// it takes. provide says how Nest comes by the class.
const asClass = (name) => `{ controllers: [${name}] }`;
const asProvider = (name) => `{ providers: [${name}] }`;
export const wrong = {
  2: {
    sound: { tools: [['get_order', policyFor('get_order')], ['list_orders', policyFor('list_orders')]], says: 'accepted' },
    undecorated: { tools: [['get_order', '']], says: 'modec: tool "get_order" has no @ToolPolicyFor' },
    swapped: { tools: [['get_order', policyFor('list_orders')]], says: 'modec: tool "get_order" has the decorator of "list_orders"' },
    unknown: { tools: [['drop_all', policyFor('list_orders')]], says: 'modec: tool "drop_all" is not in the policy' },
    inherited: { tools: [['constructor', policyFor('list_orders')]], says: 'modec: tool "constructor" is not in the policy' },
    public: { tools: [['get_order', `@PublicTool() ${policyFor('get_order')}`]], says: 'modec: tool "get_order" has another decorator that overrides @ToolPolicyFor' },
    shown: { tools: [['get_product', `@ToolRoles(['everyone']) ${policyFor('get_product')}`]], says: 'modec: tool "get_product" has another decorator that overrides @ToolPolicyFor' },
    all: { tools: [['get_order', ''], ['drop_all', '']], says: 'modec: tool "get_order" has no @ToolPolicyFor; tool "drop_all" is not in the policy' },
    strategy: { tools: [['get_order', policyFor('get_order')]], strategy: 'plain as never', says: 'modec: the strategy is no PolicyMcpStrategy' },
  },
  1: {
    sound: { tools: [['get_order', policyFor('get_order')], ['list_orders', policyFor('list_orders')]], says: 'accepted' },
    undecorated: { tools: [['get_order', '']], says: 'modec: tool "get_order" has no @ToolPolicyFor' },
    swapped: { tools: [['get_order', policyFor('list_orders')]], says: 'modec: tool "get_order" has the decorator of "list_orders"' },
    unknown: { tools: [['drop_all', policyFor('list_orders')]], says: 'modec: tool "drop_all" is not in the policy' },
    inherited: { tools: [['constructor', policyFor('list_orders')]], says: 'modec: tool "constructor" is not in the policy' },
    replaced: { tools: [['get_order', `@ToolGuards([JwtGuard]) ${policyFor('get_order')}`]], says: 'modec: tool "get_order" has another decorator that overrides @ToolPolicyFor' },
    // 1.9 finds tools on what a factory or a value provides.
    factory: { tools: [['get_order', '']], provide: (name) => `{ providers: [{ provide: 'tools', useFactory: () => new ${name}() }] }`, says: 'modec: tool "get_order" has no @ToolPolicyFor' },
    value: { tools: [['get_order', '']], provide: (name) => `{ providers: [{ provide: 'tools', useValue: new ${name}() }] }`, says: 'modec: tool "get_order" has no @ToolPolicyFor' },
    controller: { tools: [['get_order', '']], provide: (name) => `{ controllers: [${name}] }`, says: 'modec: tool "get_order" has no @ToolPolicyFor' },
  },
};

// judge prints what assertPolicy says of each wrong application.
export const judge = (version) => `${head(version)}
${version === 2 ? `const transport = new StreamableHttpTransport({ statefulMode: false });
const options = { name: 'shop', version: '1.0.0', transports: [transport] };
const strategy = new policy.PolicyMcpStrategy(options);
const plain = new McpStrategy(options);
// The compiler demands the strategy that hides, too.
export function unsound(app: Parameters<typeof assertPolicy>[0]): void {
  // @ts-expect-error any other strategy lists tools to everybody
  assertPolicy(app, plain);
  // @ts-expect-error the strategy is missing
  assertPolicy(app);
}` : ''}
// @ts-expect-error a tool that the policy does not know
export const misspelt = () => ToolPolicyFor('get_ordre');
${Object.entries(wrong[version]).map(([name, app]) => `${toolClass(version, `Tools_${name}`, app.tools)}
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
}
void main();
`;
