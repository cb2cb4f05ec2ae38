// Written by modec from the project's source; edits are overwritten.

/** Which claims of the verified user make a person a role: every claim must hold one of its values. */
export const ROLE_CLAIMS = {
  "clerk": { "level": ["2", "3"], "team": ["sales"] },
  "worker": { "roles": ["worker"] },
} as const satisfies Record<string, Record<string, readonly string[]>>;

export type RoleName = keyof typeof ROLE_CLAIMS;

export interface ToolPolicy {
  /** The roles that may call the tool. */
  readonly roles: readonly RoleName[];
  /** Whether `user.roles` alone decides, so that @ToolRoles filters the list by `listed`. */
  readonly hidden: boolean;
  /** The values of `user.roles` that see the tool. */
  readonly listed: readonly string[];
}

/** Who may call what. */
export const TOOL_POLICY = {
  "list": { roles: ["clerk", "worker"], hidden: false, listed: [] },
  "refund": { roles: [], hidden: true, listed: [] },
  "sell": { roles: ["clerk", "worker"], hidden: false, listed: [] },
} as const satisfies Record<string, ToolPolicy>;

export type ToolName = keyof typeof TOOL_POLICY;
