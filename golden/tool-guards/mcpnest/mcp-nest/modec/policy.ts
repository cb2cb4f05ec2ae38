// Written by modec from the project's source; edits are overwritten.

/**
 * Who has a role: those whose verified token has one of the values of every claim, with
 * 'authenticated' everybody with a verified token, with 'anyone' everybody.
 */
export type RoleClaims = 'anyone' | 'authenticated' | Readonly<Record<string, readonly string[]>>;

export const ROLE_CLAIMS = {
  "admin": { "roles": ["admin"] },
  "auditor": { "audited": ["true"], "roles": ["admin"] },
  "profile": { "scopes": ["profile:read"] },
  "visitor": "anyone",
} as const satisfies Record<string, RoleClaims>;

export type RoleName = keyof typeof ROLE_CLAIMS;

export interface ToolPolicy {
  /** The roles that may call the tool. */
  readonly roles: readonly RoleName[];
}

/** Who may call what. */
export const TOOL_POLICY = {
  "admin-report": { roles: ["admin"] },
  "public-info": { roles: ["visitor"] },
  "sensitive-data": { roles: ["auditor"] },
  "user-profile": { roles: ["profile"] },
} as const satisfies Record<string, ToolPolicy>;

export type ToolName = keyof typeof TOOL_POLICY;

export interface ResourcePolicy {
  /** The roles that may read the server's resources. */
  readonly resources: readonly RoleName[];
  /** The roles that may get its prompts. */
  readonly prompts: readonly RoleName[];
}

/** Who may use what else the servers of the application have. */
export const RESOURCE_POLICY = {
  "reports": { resources: [], prompts: [] },
} as const satisfies Record<string, ResourcePolicy>;
