// Written by modec from the project's source; edits are overwritten.

/**
 * - A guard of yours on the endpoint sets `request.user` to the claims of a verified token.
 * - Connect `new PolicyMcpStrategy(options)` in place of McpStrategy, without sessions.
 * - Call `assertPolicy(app, strategy)` after NestFactory.create: it refuses to start an
 *   application that the policy does not cover.
 * - Put `@ToolPolicyFor('TOOL')` beside each `@Tool`.
 */
export * from './guards';
export * from './policy';
export { PolicyMcpStrategy } from './strategy';
export { holds, mayCall, mayRead } from './decide';
