// Written by modec from the project's source; edits are overwritten.

/** Which claims of the verified user make a person a role: every claim must hold one of its values. */
export const ROLE_CLAIMS = {
  "clerk": { "roles": ["branch-manager", "clerk"] },
  "customer": { "roles": ["customer"] },
  "night shift": { "roles": ["clerk"], "shift": ["night"] },
  "監査役": { "https://bank.example/claims/board": ["audit"] },
} as const satisfies Record<string, Record<string, readonly string[]>>;

export type RoleName = keyof typeof ROLE_CLAIMS;

export interface ToolPolicy {
  /** The roles that may call the tool. */
  readonly roles: readonly RoleName[];
}

/** Who may call what. */
export const TOOL_POLICY = {
  "close_account": { roles: [] },
  "get_balance": { roles: ["clerk", "customer", "night shift", "監査役"] },
  "list_transfers": { roles: ["clerk", "customer", "監査役"] },
  "transfer": { roles: ["clerk", "customer"] },
} as const satisfies Record<string, ToolPolicy>;

export type ToolName = keyof typeof TOOL_POLICY;
