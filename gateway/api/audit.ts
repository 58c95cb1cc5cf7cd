/** What people have changed, as `GET /api/audit` answers. */

export interface ListedChange {
	/** ISO 8601. */
	readonly at: string;
	/** Name of the token. */
	readonly who: string;
	readonly address: string;
	readonly deviceId: string | null;
	/** A request, such as `POST /api/commands`, or the type of a message. */
	readonly what: string;
	/** What was sent, without secrets. */
	readonly detail: string | null;
}

export interface ChangeList {
	/** The newest first. */
	readonly changes: readonly ListedChange[];
}
