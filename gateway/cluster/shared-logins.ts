/** Logins that were ended, by logging out or as codes that were used: on one gateway, so on all. */

import { type EndedLogins, type EndedLoginsFile, parseEndedLogins } from "../access/ended-logins.js";
import type { Bus } from "./bus.js";
import { Replication } from "./replication.js";

export interface SharedLoginsOptions {
	readonly bus: Bus;
	readonly endedLogins: EndedLogins;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

const key = "ended-logins";

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
		close: () => replication.close(),
	};
}
