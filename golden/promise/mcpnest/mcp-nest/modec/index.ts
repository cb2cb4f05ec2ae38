// Written by modec from the project's source; edits are overwritten.

/**
 * 1. A guard of yours sets `request.user` to the claims of a verified token.
 * 2. MCP-Nest reads `user.roles` as a list only: where a token has a string, make it one.
 * 3. Connect a PolicyMcpStrategy in place of McpStrategy, and call assertPolicy(app, strategy) after NestFactory.create.
 * 4. Put @ToolPolicyFor('<tool>') beside each @Tool. Tools that are registered at run
 *    time carry no decorator and pass no guard.
 */
export * from './guards';
export * from './policy';
export * from './strategy';
