// Written by modec from the project's source; edits are overwritten.

/**
 * - Guard the endpoint with TokenGuard: it sets `request.user` to the claims of a verified token.
 * - Import `withPolicy(McpModule.forRoot(options))`, with the transport STREAMABLE_HTTP and
 *   without sessions.
 * - Call `assertPolicy(app)` after NestFactory.create: it refuses to start an application
 *   that the policy does not cover.
 * - Put `@ToolPolicyFor('TOOL')` beside each `@Tool`.
 */
export * from './guards';
export * from './policy';
export { TokenGuard } from './authentication';
export { PolicyMcpExecutor, withPolicy } from './module';
export { holds, mayCall, mayRead } from './decide';
