// Written by modec from the project's source; edits are overwritten.

/**
 * Who has a role: those whose verified token has one of the values of every claim, with
 * 'authenticated' everybody with a verified token, with 'anyone' everybody.
 */
export type RoleClaims = 'anyone' | 'authenticated' | Readonly<Record<string, readonly string[]>>;

export const ROLE_CLAIMS = {
  "clerk": { "roles": ["branch-manager", "clerk"] },
  "customer": { "roles": ["customer"] },
  "member": "authenticated",
  "night shift": { "roles": ["clerk"], "shift": ["night"] },
  "partner": { "level": ["7", "8"], "scope": ["bank:admin", "bank:read"], "verified": ["true"] },
  "visitor": "anyone",
  "監査役": { "https://bank.example/claims/board": ["audit"] },
} as const satisfies Record<string, RoleClaims>;

export type RoleName = keyof typeof ROLE_CLAIMS;

export interface ToolPolicy {
  /** The roles that may call the tool. */
  readonly roles: readonly RoleName[];
}

/** Who may call what. */
export const TOOL_POLICY = {
  "close_account": { roles: [] },
  "get_balance": { roles: ["clerk", "customer", "member", "night shift", "監査役"] },
  "list_transfers": { roles: ["clerk", "customer", "partner", "監査役"] },
  "transfer": { roles: ["clerk", "customer"] },
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
  "bank": { resources: [], prompts: [] },
} as const satisfies Record<string, ResourcePolicy>;

/** What a token has to be. */
export const AUTHENTICATION = { issuer: "https://id.bank.example/", audience: ["https://bank.example/mcp"], jwks: "https://id.bank.example/keys" } as const satisfies Record<string, string | readonly string[]>;
