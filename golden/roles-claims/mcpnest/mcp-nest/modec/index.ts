// Written by modec from the project's source; edits are overwritten.

/**
 * 1. A guard of yours sets `request.user` to the claims of a verified token.
 * 2. Serve HTTP: without a request there is no user, and every tool is hidden.
 * 3. Spread POLICY_GUARDS into the providers of the module, and call assertPolicy(app) after NestFactory.create.
 * 4. Put @ToolPolicyFor('<tool>') beside each @Tool. Tools that are registered at run
 *    time carry no decorator and pass no guard.
 */
export * from './guards';
export * from './policy';
