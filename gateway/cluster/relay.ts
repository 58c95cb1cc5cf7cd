/**
 * Relays uplinks to other gateways on `gw.reports.<gateway>`. Uplinks within a few milliseconds are batched:
 * each message costs a system call here, one at the receiver and one per monitor there, more than all other
 * processing of a report.
 */

import { matches } from "../../device/protocol/schema.js";
import { time } from "../api/time.js";
import type { Session } from "../sessions/device.js";

/** Batching interval after an uplink was sent. */
const gatherMs = 2;
/**
 * Maximum length of a batch. Together with a last uplink of 64 KB it stays below the NATS limit of 1 MB in
 * any script.
 */
const messageCharacters = 64 * 1024;

export interface RelayedUplink {
	readonly sessionId: string;
	/** Revision of the session's directory entry that precedes the uplink. */
	readonly revision: number;
	/** Milliseconds since 1970. */
	readonly at: number;
	readonly isStateReport: boolean;
	/** Uplink as received, in UTF-8. */
	readonly text: Buffer;
}

export class Relay {
	readonly #publish: (text: string) => void;
	#waiting = "";
	/** Set while uplinks are batched. */
	#timer: NodeJS.Timeout | undefined;

	constructor(publish: (text: string) => void) {
		this.#publish = publish;
	}

	/** Sends an uplink immediately, or up to 2 ms later if another one was just sent. */
	add({ sessionId, lastSeenAt }: Session, revision: number, text: string, isStateReport: boolean): void {
		// Plain text instead of JSON, as it is parsed for each uplink.
		const head = `${sessionId} ${revision} ${lastSeenAt} ${isStateReport ? "state" : "other"} ${text.length}`;
		this.#waiting += `${head}\n${text}`;
		if (!this.#timer || this.#waiting.length >= messageCharacters) this.flush();
	}

	/** Sends the current batch. Must be called before any message that must not overtake it. */
	flush(): void {
		if (this.#waiting === "") return;
		const text = this.#waiting;
		this.#waiting = "";
		this.#publish(text);
		this.#timer ??= setTimeout(() => {
			this.#timer = undefined;
			this.flush();
		}, gatherMs);
	}
}

/**
 * Parses a batch.
 * @throws {RangeError} if it is invalid
 */
export function* readRelayed(message: string): Generator<RelayedUplink> {
	for (let from = 0; from < message.length; ) {
		const start = message.indexOf("\n", from) + 1;
		const [sessionId = "", revision, at, kind, length] = message.slice(from, start).split(" ");
		from = start + Number(length);
		if (!(start > 0 && from >= start && from <= message.length)) throw new RangeError("invalid length");
		if (!matches(time, Number(at))) throw new RangeError("invalid time");
		if (!Number.isSafeInteger(Number(revision))) throw new RangeError("invalid revision");
		const text = Buffer.from(message.slice(start, from));
		yield { sessionId, revision: Number(revision), at: Number(at), isStateReport: kind === "state", text };
	}
}
