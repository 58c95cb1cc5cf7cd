/** The sessions of this gateway as others are told of them: each change once, and all of them on request. */

import type { Device, Session } from "../sessions/device.js";
import { frameCharacters } from "../sessions/view.js";
import { factsOf, type ListRequest, type ToldSession } from "./messages.js";

interface Own {
	readonly session: Session;
	/** In the order in which they began. */
	readonly serial: number;
	/** As told last. */
	revision: number;
	vitals: Device["vitals"] | undefined;
	hasReported: boolean;
}

export class OwnSessions {
	/** The latest of each device, by device id; those without a name by session id. In the order of `serial`. */
	readonly #own = new Map<string, Own>();
	#serial = 0;

	/**
	 * A session has changed.
	 * @param revision greater than in the call before
	 * @returns what to tell
	 */
	change(session: Session, revision: number): ToldSession {
		const { device } = session;
		if (device) this.#own.delete(session.sessionId);
		const key = device?.deviceId ?? session.sessionId;
		const known = this.#own.get(key);
		const isCurrent = device ? device.session === session : session.connected;
		if (known?.session !== session && isCurrent) {
			this.#own.delete(key);
			this.#serial += 1;
		} else if (known?.session === session && !isCurrent) this.#own.delete(key);
		const serial = known?.session === session ? known.serial : this.#serial;
		const { vitals, hasReported = false } = device ?? {};
		if (isCurrent) this.#own.set(key, { session, serial, revision, vitals, hasReported });
		return { ...factsOf(session), revision };
	}

	/** @param isSummaryNeeded whether another gateway has monitors with the summary @returns whether to tell a report's changes */
	isChanged({ session, deviceId, vitals, hasReported }: Device, isSummaryNeeded: boolean): boolean {
		const own = this.#own.get(deviceId);
		if (own?.session !== session) return true;
		return own.hasReported !== hasReported || (isSummaryNeeded && own.vitals !== vitals);
	}

	forget(deviceId: string): void {
		this.#own.delete(deviceId);
	}

	/** @returns JSON, a ListPiece @param told number of messages until now */
	list({ after = 0, only, changed = false, reports = [] }: ListRequest, told: number): string {
		const withReport = reports === "all" ? undefined : new Set(reports);
		const texts: string[] = [];
		let size = 0;
		let next: number | undefined;
		for (const { session, serial, revision, vitals } of this.#chosen(only)) {
			const { device } = session;
			if (serial <= after || (device && device.session !== session)) continue;
			if (changed && device?.vitals === vitals) continue;
			const needsReport = device && (!withReport || withReport.has(device.deviceId));
			const state = needsReport ? device.state.text : undefined;
			const text = JSON.stringify({ ...factsOf(session), revision, state } satisfies ToldSession);
			texts.push(text);
			size += text.length;
			next = serial;
			if (size >= frameCharacters) break;
			next = undefined;
		}
		const head = JSON.stringify({ told, next });
		return `${head.slice(0, -1)},"sessions":[${texts.join(",")}]}`;
	}

	#chosen(only: readonly string[] | undefined): Iterable<Own> {
		if (!only) return this.#own.values();
		return only.flatMap((id) => this.#own.get(id) ?? []).sort((a, b) => a.serial - b.serial);
	}
}
