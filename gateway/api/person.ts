/** Authenticated people, as returned by `GET /login/state`. */

/** Roles, most permissions first; see permissions.ts. */
export const personRoles = Object.freeze(["monitor", "user", "viewer"] as const);
export type PersonRole = (typeof personRoles)[number];

/** Owner of a token. */
export interface Person {
	/** `monitor` for the token without a name. */
	readonly name: string;
	readonly role: PersonRole;
}
