/** Other gateways of a cluster that are up: their liveness, by heartbeats, and the devices their monitors are interested in. */

import type { Logger } from "pino";
import type { Base } from "../base.js";
import type { Device } from "../sessions/device.js";
import type { Heartbeat, Interest } from "./messages.js";

/** Another gateway. */
export interface Member {
	readonly id: string;
	/** Display name. */
	name: string;
	/** Time of the latest heartbeat, on the monotonic clock. */
	heardAt: number;
	/** Time of the latest heartbeat, in milliseconds since 1970. */
	seenAt: number;
	interest: Interest;
	/** Digest of its catalog; undefined: unknown. */
	releases: string | undefined;
	interestingDevices: ReadonlySet<string>;
}

export interface MembersOptions extends Pick<Base, "now" | "monotonic"> {
	readonly log: Pick<Logger, "info" | "warn">;
	readonly onUp: (member: Member) => void;
	readonly onDown: (member: Member) => void;
	/** Time without a heartbeat after which a gateway counts as down, in milliseconds. */
	readonly silenceMs: number;
}

export const noInterest: Interest = Object.freeze({ all: false, summary: false, devices: [] });

export class Members {
	readonly #options: MembersOptions;
	/** Members that are up, by id. */
	readonly #members = new Map<string, Member>();
	/** Whether a gateway was lost, without a leave message, since the latest one came up. */
	#hasLost = false;

	constructor(options: MembersOptions) {
		this.#options = options;
	}

	get up(): readonly Member[] {
		return [...this.#members.values()];
	}

	get hasLost(): boolean {
		return this.#hasLost;
	}

	get isSummaryNeeded(): boolean {
		return this.up.some(({ interest }) => interest.summary);
	}

	/** Returns a member that is up. */
	find(id: string): Member | undefined {
		return this.#members.get(id);
	}

	/** Whether a monitor of another gateway needs the uplinks of a device. */
	needsUplinks({ deviceId }: Device): boolean {
		for (const { interest, interestingDevices } of this.#members.values())
			if (interest.all || interestingDevices.has(deviceId)) return true;
		return false;
	}

	onHeartbeat({ gateway, name, interest, releases, isLeaving }: Heartbeat): void {
		const known = this.#members.get(gateway);
		if (isLeaving) {
			if (known) this.#drop(known, false);
			return;
		}
		const { monotonic, now, log, onUp } = this.#options;
		const latest = { name, heardAt: monotonic(), seenAt: now(), interest, releases };
		const interestingDevices = new Set(interest.devices);
		if (known) return void Object.assign(known, { ...latest, interestingDevices });
		const member: Member = { id: gateway, ...latest, interestingDevices };
		this.#members.set(gateway, member);
		this.#hasLost = false;
		log.info({ gateway: name }, "gateway: up");
		onUp(member);
	}

	/** Removes members without heartbeats. Must be called periodically. */
	check(): void {
		const { monotonic, silenceMs } = this.#options;
		for (const member of this.up) if (monotonic() - member.heardAt > silenceMs) this.#drop(member, true);
	}

	#drop(member: Member, isLost: boolean): void {
		const { log, onDown } = this.#options;
		this.#members.delete(member.id);
		this.#hasLost ||= isLost;
		log[isLost ? "warn" : "info"]({ gateway: member.name }, isLost ? "gateway: lost" : "gateway: stopped");
		onDown(member);
	}
}
