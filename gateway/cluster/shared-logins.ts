/** Logins that were ended, by logging out or as codes that were used: on one gateway, so on all. */

import { type EndedLogins, type EndedLoginsFile, parseEndedLogins } from "../access/ended-logins.js";
import { type BucketOptions, type Bus, BusError } from "../bus.js";
import { Replication } from "./replication.js";

export interface SharedLoginsOptions {
	readonly bus: Bus;
	readonly endedLogins: EndedLogins;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

const key = "ended-logins";
/** Longer than a login code is valid, by any gateway's clock. */
const codesBucket: BucketOptions = Object.freeze({ ttlMs: 2 * 60 * 60 * 1000 });

/** @returns to be started once the logins are open */
export function shareLogins({ bus, endedLogins, now, onProblem }: SharedLoginsOptions) {
	const replication = new Replication<EndedLoginsFile>({
		bus,
		bucket: "gw-state",
		key,
		own: {
			read: async () => endedLogins.file,
			save: (_key, file) => endedLogins.take(file),
			remove: async () => {},
		},
		format: (file) => JSON.stringify(file),
		parse: parseEndedLogins,
		changedAt: now,
		merge: (theirs, mine) => ({
			endedBefore: Math.max(theirs.endedBefore, mine.endedBefore),
			ended: { ...theirs.ended, ...mine.ended },
		}),
		onRecord: () => {},
		now,
		onProblem,
	});
	return {
		start: () => {
			replication.has(key, endedLogins.file);
			replication.start();
		},
		changed: (file: EndedLoginsFile) => replication.changed(key, file),
		/** Without the bus each gateway counts for itself. @returns whether no other gateway has used that login code */
		claim: async (signature: string): Promise<boolean> => {
			try {
				const codes = await bus.bucket("gw-login-codes", codesBucket);
				return (await codes.set(signature, "used", 0)) !== undefined;
			} catch (error) {
				if (!(error instanceof BusError)) throw error;
				return true;
			}
		},
		close: () => replication.close(),
	};
}
