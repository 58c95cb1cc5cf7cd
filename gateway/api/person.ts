/** Who uses the gateway, as `GET /login/state` answers. */

/** Of people: a viewer sees what a monitor sees, and changes nothing. */
export const personRoles = Object.freeze(["monitor", "viewer"] as const);
export type PersonRole = (typeof personRoles)[number];

/** By whose token a request is made. */
export interface Person {
	/** `monitor` for the token without a name. */
	readonly name: string;
	readonly role: PersonRole;
}
