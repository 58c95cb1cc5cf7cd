/** Who uses the gateway, as `GET /login/state` answers. */

/** From the one that may do most: see permissions.ts. */
export const personRoles = Object.freeze(["monitor", "user", "viewer"] as const);
export type PersonRole = (typeof personRoles)[number];

/** By whose token a request is made. */
export interface Person {
	/** `monitor` for the token without a name. */
	readonly name: string;
	readonly role: PersonRole;
}
