import { Injectable, ServiceUnavailableException, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { createRemoteJWKSet, errors, jwtVerify } from 'jose';
import { AUTHENTICATION, ROLE_CLAIMS } from './policy.js';
import type { RoleClaims } from './policy.js';

/** A request as Express has it, or as Fastify does, of which MCP-Nest hands on what it wraps. */
type Request = { headers: { authorization?: string }; user?: unknown; raw?: { user?: unknown } };
type Response = { header(name: string, value: string): unknown };

/** Every signature that a public key verifies, and no other: a key that is published must not sign. */
const algorithms = [
  'EdDSA', 'Ed25519', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512',
];
const keys = createRemoteJWKSet(new URL(AUTHENTICATION.jwks));
const anonymous = Object.values<RoleClaims>(ROLE_CLAIMS).includes('anyone');

/** How jose says that the issuer's keys could not be read, which is no fault of a token. */
const unanswered = ['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'];

function identify(request: Request, user: unknown): void {
  request.user = user;
  if (request.raw !== undefined) request.raw.user = user;
}

/**
 * Put this on the endpoint: it sets request.user to the claims of a verified
 * token, and answers 401 without one. Where the policy has a role of anyone, a
 * request without a token passes as nobody.
 */
@Injectable()
export class TokenGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const response = context.switchToHttp().getResponse<Response>();
    const { authorization } = request.headers;
    identify(request, undefined);
    if (authorization === undefined) {
      if (anonymous) return true;
      response.header('WWW-Authenticate', 'Bearer');
      throw new UnauthorizedException();
    }
    try {
      const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
      const { payload } = await jwtVerify(token, keys, {
        algorithms,
        audience: [...AUTHENTICATION.audience],
        clockTolerance: 30,
        issuer: AUTHENTICATION.issuer,
        requiredClaims: ['exp'],
      });
      identify(request, payload);
      return true;
    } catch (e) {
      if (!(e instanceof errors.JOSEError) || unanswered.includes(e.code)) {
        throw new ServiceUnavailableException('the keys of the issuer cannot be read');
      }
      response.header('WWW-Authenticate', 'Bearer error="invalid_token"');
      throw new UnauthorizedException();
    }
  }
}
