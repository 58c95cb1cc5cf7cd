/**
 * Uplinks on their way to other gateways, on `gw.reports.<gateway>`. Those of a few milliseconds go as one message: each message is a
 * system call here, one there, and one more there for each monitor, which cost more than all else about a report.
 */

import { matches } from "../../device/protocol/schema.js";
import { time } from "../api/time.js";
import type { Session } from "../sessions/device.js";

/** For uplinks that follow one that was just sent. */
const gatherMs = 2;
/** Of one message; NATS takes 1 MB, which this and a last uplink of 64 KB do not reach in any alphabet. */
const messageCharacters = 64 * 1024;

export interface RelayedUplink {
	readonly sessionId: string;
	/** Of what the directory said of the session before it. */
	readonly revision: number;
	/** Milliseconds since 1970. */
	readonly at: number;
	readonly isStateReport: boolean;
	/** As received, in UTF-8. */
	readonly text: Buffer;
}

export class Relay {
	readonly #publish: (text: string) => void;
	#waiting = "";
	/** Until it ends, uplinks wait. */
	#timer: NodeJS.Timeout | undefined;

	constructor(publish: (text: string) => void) {
		this.#publish = publish;
	}

	/** Sends it at once, or up to 2 ms later if another one was just sent. */
	add({ sessionId, lastSeenAt }: Session, revision: number, text: string, isStateReport: boolean): void {
		// Not JSON: it is read for each uplink.
		const head = `${sessionId} ${revision} ${lastSeenAt} ${isStateReport ? "state" : "other"} ${text.length}`;
		this.#waiting += `${head}\n${text}`;
		if (!this.#timer || this.#waiting.length >= messageCharacters) this.flush();
	}

	/** Sends what waits. To be called before any message that must not overtake it. */
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

/** @throws {RangeError} if it is no message of a Relay */
export function* readRelayed(message: string): Generator<RelayedUplink> {
	for (let from = 0; from < message.length; ) {
		const start = message.indexOf("\n", from) + 1;
		const [sessionId = "", revision, at, kind, length] = message.slice(from, start).split(" ");
		from = start + Number(length);
		if (!(start > 0 && from >= start && from <= message.length)) throw new RangeError("a length is wrong");
		if (!matches(time, Number(at))) throw new RangeError("a time is wrong");
		if (!Number.isSafeInteger(Number(revision))) throw new RangeError("a revision is wrong");
		const text = Buffer.from(message.slice(start, from));
		yield { sessionId, revision: Number(revision), at: Number(at), isStateReport: kind === "state", text };
	}
}
