/** Who uses the gateway, as `GET /login/state` answers. */

/** From the one that may do most: see permissions.ts. */
export const personRoles = Object.freeze(["monitor", "user", "viewer"] as const);
export type PersonRole = (typeof personRoles)[number];

/** As `POST /login/link` answers. */
export interface LoginLink {
	readonly url: string;
	/** ISO 8601. */
	readonly expiresAt: string;
}

/** As `GET /api/tokens` answers. Times are in ISO 8601. */
export interface TokenList {
	readonly tokens: readonly (Person & {
		/** Null if it is not known. */
		readonly since: string | null;
		/** Null: not since the start of this gateway. */
		readonly usedAt: string | null;
	})[];
}

/** By whose token a request is made. */
export interface Person {
	/** `monitor` for the token without a name. */
	readonly name: string;
	readonly role: PersonRole;
}
