// Writes a NestJS application around the emitted guards: a method for each tool
// of the table, that counts its calls. The tools' schema keeps unknown keys, so
// that a caller can send a forged user as an argument.
const tools = (names, decorate) => names.map((n, i) => `
  @Tool({ name: ${JSON.stringify(n)}, description: 'a tool', parameters: z.looseObject({}) })
  ${decorate(n)}
  t${i}(${/* 2.x binds the arguments by a decorator, 1.9 by place */ ''}ARGS) {
    console.log('CALLED ' + ${JSON.stringify(n)});
    return { content: [{ type: 'text', text: 'done' }] };
  }`).join('\n');

const jwt = `
@Injectable()
class JwtGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    const [head = '', body = '', mac] = String(request.headers.authorization ?? '').replace('Bearer ', '').split('.');
    const want = createHmac('sha256', 'secret').update(head + '.' + body).digest('base64url');
    if (mac !== want) throw new UnauthorizedException('invalid token');
    request.user = JSON.parse(Buffer.from(body, 'base64url').toString());
    return true;
  }
}`;

export function v2(names, decorate = (n) => `@ToolPolicyFor(${JSON.stringify(n)})`) {
  return `import 'reflect-metadata';
import { createHmac } from 'node:crypto';
import { Controller, Injectable, Module, UnauthorizedException, UseGuards } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Payload } from '@nestjs/microservices';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { McpController, McpHttpControllerFor, McpStrategy, StreamableHttpTransport, Tool } from '@rekog/mcp-nest';
import { z } from 'zod';
import { assertPolicy, ToolPolicyFor } from './modec/index';
${jwt}
const transport = new StreamableHttpTransport({ statefulMode: false, enableJsonResponse: true });
const strategy = new McpStrategy({ name: 'shop', version: '1.0.0', transports: [transport] });

@Controller('mcp')
@UseGuards(JwtGuard)
class Endpoint extends McpHttpControllerFor(transport) {}

@McpController()
class Tools {${tools(names, decorate).replaceAll('ARGS', '@Payload() _args: unknown')}
}

@Module({ controllers: [Endpoint, Tools] })
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
  assertPolicy(app);
  strategy.setHttpAdapter(app.getHttpAdapter());
  app.connectMicroservice<MicroserviceOptions>({ strategy });
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  console.log('READY ' + (app.getHttpServer().address() as { port: number }).port);
}
main().catch((e) => { console.log('REFUSED ' + (e as Error).message); process.exit(1); });
`;
}

export function v1(names, decorate = (n) => `@ToolPolicyFor(${JSON.stringify(n)})`) {
  return `import 'reflect-metadata';
import { createHmac } from 'node:crypto';
import { Injectable, Module, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { McpModule, McpTransportType, Tool } from '@rekog/mcp-nest';
import { z } from 'zod';
import { assertPolicy, POLICY_GUARDS, ToolPolicyFor } from './modec/index';
${jwt}
@Injectable()
class Tools {${tools(names, decorate).replaceAll('ARGS', '_args: unknown')}
}

@Module({
  imports: [McpModule.forRoot({ name: 'shop', version: '1.0.0', transport: McpTransportType.STREAMABLE_HTTP, guards: [JwtGuard], streamableHttp: { enableJsonResponse: true, sessionIdGenerator: undefined, statelessMode: true } })],
  providers: [Tools, JwtGuard, ...POLICY_GUARDS],
})
class AppModule {}

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false });
  assertPolicy(app);
  await app.listen(0, '127.0.0.1');
  console.log('READY ' + (app.getHttpServer().address() as { port: number }).port);
}
main().catch((e) => { console.log('REFUSED ' + (e as Error).message); process.exit(1); });
`;
}
