// Written by modec from the project's source; edits are overwritten.

/** Which claims of the verified user make a person a role: every claim must hold one of its values. */
export const ROLE_CLAIMS = {
  "../../etc/passwd": { "roles": ["__proto__", "constructor", "toString"] },
  ["__proto__"]: { ["__proto__"]: ["__proto__"] },
  "o'hara \"ops\" $(id)": { "roles": ["*/", "`${process.exit()}`", "a\"b'c\\", "\u2028"] },
  "o-hara -ops- --id-": { "roles": ["o-hara"] },
  "監査役 \u202e🙈": { "roles": ["監査"] },
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
  ["__proto__"]: { roles: [], hidden: true, listed: [] },
  "constructor": { roles: ["../../etc/passwd", "o'hara \"ops\" $(id)", "監査役 \u202e🙈"], hidden: true, listed: ["*/", "__proto__", "`${process.exit()}`", "a\"b'c\\", "constructor", "toString", "\u2028", "監査"] },
  "get.text-1_a": { roles: ["__proto__", "o'hara \"ops\" $(id)", "o-hara -ops- --id-", "監査役 \u202e🙈"], hidden: false, listed: [] },
} as const satisfies Record<string, ToolPolicy>;

export type ToolName = keyof typeof TOOL_POLICY;
