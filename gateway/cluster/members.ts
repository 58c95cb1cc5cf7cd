/** Other gateways of a cluster: their liveness, by heartbeats, and the devices their monitors are interested in. */

import type { Logger } from "pino";
import type { Base } from "../base.js";
import type { Device } from "../sessions/device.js";
import type { Heartbeat, Interest } from "./messages.js";

/** Another gateway. */
export interface Member {
	readonly id: string;
	/** Display name. */
	name: string;
	/** Whether a heartbeat was received recently. */
	isUp: boolean;
	/** Whether its heartbeats stopped without a leave message. */
	isLost: boolean;
	/** Time of the latest heartbeat, on the monotonic clock. */
	heardAt: number;
	/** Time of the latest heartbeat, in milliseconds since 1970. */
	seenAt: number;
	interest: Interest;
	/** Digest of its catalog; undefined: unknown. */
	releases: string | undefined;
	readonly interestingDevices: Set<string>;
}

export interface MembersOptions extends Pick<Base, "now" | "monotonic"> {
	readonly log: Pick<Logger, "info" | "warn">;
	readonly onUp: (member: Member) => void;
	readonly onDown: (member: Member) => void;
	/** Time without a heartbeat after which a gateway counts as down, in milliseconds. */
	readonly silenceMs: number;
}

/**
 * Limit, including members that are down, far above real cluster sizes. Ids change at each start, and anyone
 * on the bus can invent them.
 */
export const maxMembers = 100;

export const noInterest: Interest = Object.freeze({ all: false, summary: false, devices: [] });

export class Members {
	readonly #options: MembersOptions;
	/** All members by id, including those that are down. */
	readonly #members = new Map<string, Member>();
	#up: readonly Member[] = [];

	constructor(options: MembersOptions) {
		this.#options = options;
	}

	get up(): readonly Member[] {
		return this.#up;
	}

	get hasLost(): boolean {
		return [...this.#members.values()].some(({ isLost }) => isLost);
	}

	get isSummaryNeeded(): boolean {
		return this.#up.some(({ interest }) => interest.summary);
	}

	find(id: string): Member | undefined {
		return this.#members.get(id);
	}

	/** Whether a monitor of another gateway needs the uplinks of a device. */
	needsUplinks({ deviceId }: Device): boolean {
		return this.#up.some(
			({ interest, interestingDevices }) => interest.all || interestingDevices.has(deviceId),
		);
	}

	/**
	 * Processes a heartbeat.
	 * @returns undefined if the gateway is leaving or there are too many
	 */
	onHeartbeat({ gateway, name, interest, releases, isLeaving }: Heartbeat): Member | undefined {
		const known = this.#members.get(gateway);
		if (isLeaving) {
			if (known?.isUp) this.#drop(known, false);
			return undefined;
		}
		const member = known ?? newMember(gateway);
		const { monotonic, now, log, onUp } = this.#options;
		member.name = name;
		member.heardAt = monotonic();
		member.seenAt = now();
		member.interest = interest;
		member.releases = releases;
		member.interestingDevices.clear();
		for (const id of interest.devices) member.interestingDevices.add(id);
		if (member.isUp) return member;
		if (!known && !this.#makeRoom()) return undefined;
		this.#members.set(gateway, member);
		member.isLost = false;
		this.#setUp(member, true);
		log.info({ gateway: name }, "gateway: up");
		onUp(member);
		return member;
	}

	/**
	 * Removes the member that has been down the longest if there are too many.
	 * @returns false if all are up
	 */
	#makeRoom(): boolean {
		if (this.#members.size < maxMembers) return true;
		const down = [...this.#members.values()].filter(({ isUp }) => !isUp);
		const [oldest] = down.sort((a, b) => a.heardAt - b.heardAt);
		return oldest !== undefined && this.#members.delete(oldest.id);
	}

	/** Marks members without heartbeats as down. Must be called periodically. */
	check(): void {
		const { monotonic, silenceMs } = this.#options;
		for (const member of this.#up) if (monotonic() - member.heardAt > silenceMs) this.#drop(member, true);
	}

	#drop(member: Member, isLost: boolean): void {
		const { log, onDown } = this.#options;
		this.#setUp(member, false);
		member.isLost = isLost;
		member.interest = noInterest;
		member.interestingDevices.clear();
		log[isLost ? "warn" : "info"]({ gateway: member.name }, isLost ? "gateway: lost" : "gateway: stopped");
		onDown(member);
	}

	#setUp(member: Member, isUp: boolean): void {
		member.isUp = isUp;
		this.#up = [...this.#members.values()].filter((known) => known.isUp);
	}
}

function newMember(id: string): Member {
	const standing = { isUp: false, isLost: false, heardAt: 0, seenAt: 0, releases: undefined };
	return { id, name: id, ...standing, interest: noInterest, interestingDevices: new Set<string>() };
}
