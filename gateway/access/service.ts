/** The access service: makes tokens, logins and the checks of both, and connects them. */

import type { IncomingMessage } from "node:http";
import type { Logger } from "pino";
import type { Joined } from "../cluster/join.js";
import type { Settings } from "../settings.js";
import type { Disk } from "../storage/atomic-file.js";
import { Access } from "./access.js";
import { EndedLogins } from "./ended-logins.js";
import { Tokens } from "./tokens.js";

export interface AccessServiceOptions {
	readonly settings: Settings;
	readonly disk: Disk;
	/** With other gateways; undefined: this one is alone. */
	readonly joined: Joined | undefined;
	readonly log: Logger;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	/** A request has shown a valid token or login. */
	readonly onAdmitted: (request: IncomingMessage) => void;
}

export function createAccessService(options: AccessServiceOptions) {
	const { settings, disk, joined, log, now, monotonic, onAdmitted } = options;
	const { auth, dataDir, publicUrl, deviceToken: device, monitorToken: monitor } = settings;
	const tokens = new Tokens({
		dataDir,
		given: { device, monitor },
		disk,
		onProblem: (problem) => log.error({ problem }, "tokens"),
		onRead: (file) => sharedTokens?.changed(file),
	});
	const sharedTokens = joined?.tokens({
		tokens,
		now,
		onProblem: (problem) => log.warn({ problem }, "tokens"),
	});
	const endedLogins = new EndedLogins({
		dataDir,
		disk,
		now,
		onProblem: (problem) => log.error({ problem }, "logins"),
		onEnded: (file) => sharedLogins?.changed(file),
		claim: (signature) => sharedLogins?.claim(signature),
	});
	const sharedLogins = joined?.logins({
		endedLogins,
		now,
		onProblem: (problem) => log.warn({ problem }, "logins"),
	});
	const access = new Access({
		tokens,
		isOff: !auth,
		publicUrl,
		endedLogins,
		log,
		now,
		monotonic,
		onAdmitted,
	});
	return {
		access,
		tokens,
		/** To be called before the gateway listens. @throws {StartError} if the tokens cannot be used */
		openTokens: async () => {
			await tokens.open();
			sharedTokens?.start();
		},
		/** @throws {NodeJS.ErrnoException} */
		openLogins: async () => {
			await endedLogins.open();
			sharedLogins?.start();
		},
		close: async () => {
			await sharedTokens?.close();
			await sharedLogins?.close();
		},
	};
}
