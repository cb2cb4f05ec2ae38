// Written by modec from the project's source; edits are overwritten.

/** Which claims of the verified user make a person a role: every claim must hold one of its values. */
export const ROLE_CLAIMS = {
  "auditor": { "department": ["compliance", "finance"], "roles": ["auditor"] },
  "ci-runner": { "roles": ["ci"] },
  "developer": { "roles": ["developer", "maintainer"] },
  "guided": { "roles": ["support", "trainee"] },
  "reviewer": { "roles": ["lead", "reviewer"] },
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
  "create_coupon": { roles: ["developer", "guided"], hidden: true, listed: ["developer", "maintainer", "support", "trainee"] },
  "delete_product": { roles: [], hidden: true, listed: [] },
  "get_order": { roles: ["auditor", "developer", "guided", "reviewer"], hidden: false, listed: [] },
  "get_product": { roles: ["ci-runner", "developer", "guided", "reviewer"], hidden: true, listed: ["ci", "developer", "lead", "maintainer", "reviewer", "support", "trainee"] },
  "list_orders": { roles: ["auditor", "developer", "guided", "reviewer"], hidden: false, listed: [] },
  "refund_order": { roles: [], hidden: true, listed: [] },
  "search_products": { roles: ["ci-runner", "developer", "guided", "reviewer"], hidden: true, listed: ["ci", "developer", "lead", "maintainer", "reviewer", "support", "trainee"] },
  "update_stock": { roles: ["developer", "guided"], hidden: true, listed: ["developer", "maintainer", "support", "trainee"] },
} as const satisfies Record<string, ToolPolicy>;

export type ToolName = keyof typeof TOOL_POLICY;
