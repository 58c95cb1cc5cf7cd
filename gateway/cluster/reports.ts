/**
 * Latest reports of other gateways' devices, which hold them. They are gathered when monitors here first need
 * them, and kept only as long.
 */

import { type Bus, BusError, subjectOf } from "../bus.js";
import type { Core } from "../extension.js";
import { type Device, keptReport, otherFieldsBytes } from "../sessions/device.js";
import { frameCharacters } from "../sessions/view.js";
import type { Member, Members } from "./members.js";
import {
	type DirectoryEntry,
	describeSession,
	type Interest,
	read,
	states as statesSchema,
} from "./messages.js";
import { applyFacts, gatewayOf, MirrorLink } from "./mirror-link.js";

export interface ReportsOptions extends Pick<Core, "sessions" | "events" | "monotonic"> {
	readonly bus: Bus;
	readonly members: Pick<Members, "up" | "find">;
	/** Called with a response that cannot be parsed. */
	readonly onError: (error: unknown) => void;
}

const answerMs = 3_000;
/** Number of reports per request. */
const batchSize = 500;
export class Reports {
	readonly #options: ReportsOptions;
	#interest: Interest = { all: false, summary: false, devices: [] };
	#devices: ReadonlySet<string> = new Set();
	/** Ids of other gateways' devices with an up-to-date report: gathered, and followed by uplinks since. */
	readonly #live = new Set<string>();
	#gathering: Promise<void> | undefined;

	constructor(options: ReportsOptions) {
		this.#options = options;
	}

	/** Sets the interest of monitors here, after other gateways received it. */
	setInterest(interest: Interest): void {
		this.#interest = interest;
		this.#devices = new Set(interest.devices);
		for (const { deviceId, session, state } of this.#options.sessions.devices.values()) {
			if (!session.link.isRemote || this.#isNeeded(deviceId)) continue;
			this.#live.delete(deviceId);
			state.clear();
		}
	}

	/** Requests the latest reports of these devices, or of all. Resolves after they arrived or failed. */
	async gather(ids?: readonly string[]): Promise<void> {
		if (ids) return this.#gather(ids);
		this.#gathering ??= this.#gather(this.#options.sessions.devices.keys()).finally(() => {
			this.#gathering = undefined;
		});
		return this.#gathering;
	}

	/**
	 * Gathers needed reports again, as uplinks may have been missed.
	 * @param of default: all gateways
	 */
	async refresh(of?: Member): Promise<void> {
		const ids: string[] = [];
		for (const { deviceId, session } of this.#options.sessions.devices.values()) {
			const gateway = gatewayOf(session);
			if (gateway === undefined || (of && of.id !== gateway) || !this.#isNeeded(deviceId)) continue;
			this.#live.delete(deviceId);
			ids.push(deviceId);
		}
		await this.#gather(ids);
	}

	/**
	 * Answers `gather` of another gateway, up to the size of one message.
	 * @param ids local devices
	 */
	describe(gateway: string, ids: readonly string[]): string {
		const texts: string[] = [];
		let size = 0;
		let count = 0;
		for (const id of ids) {
			if (size >= frameCharacters) break;
			count += 1;
			const device = this.#options.sessions.devices.get(id);
			const text = device?.state.text;
			if (!device || text === undefined || device.session.link.isRemote) continue;
			const state = `{"entry":${describeSession(gateway, device.session)},"text":${JSON.stringify(text)}}`;
			texts.push(state);
			size += state.length;
		}
		return `{"count":${count},"states":[${texts.join(",")}]}`;
	}

	/** Drops the report of a device with a new session, as it may be outdated. */
	onMoved(device: Device): void {
		this.#live.delete(device.deviceId);
		if (!this.#isNeeded(device.deviceId)) device.state.clear();
	}

	/** @param text relayed report in UTF-8 */
	onReport(device: Device, text: Buffer): void {
		if (!this.#isNeeded(device.deviceId)) return;
		const isShort = text.length <= otherFieldsBytes;
		device.state.set(isShort ? text : keptReport(JSON.parse(text.toString()), text));
	}

	#isNeeded(deviceId: string): boolean {
		return this.#interest.all || this.#devices.has(deviceId);
	}

	async #gather(ids: Iterable<string>): Promise<void> {
		const asked = new Map<Member, string[]>();
		for (const id of ids) {
			const { link } = this.#options.sessions.devices.get(id)?.session ?? {};
			const member = link instanceof MirrorLink ? link.member : undefined;
			if (!member || this.#live.has(id)) continue;
			const list = asked.get(member) ?? [];
			list.push(id);
			asked.set(member, list);
		}
		await Promise.all([...asked].map(([member, list]) => this.#requestStates(member, list)));
	}

	async #requestStates(member: Member, ids: readonly string[]): Promise<void> {
		const { bus, onError } = this.#options;
		const subject = subjectOf("gw", "states", member.id);
		try {
			for (let next = 0; next < ids.length; ) {
				const some = ids.slice(next, next + batchSize);
				const { count, states } = read(
					statesSchema,
					await bus.request(subject, JSON.stringify(some), answerMs),
				);
				if (count === 0) throw new RangeError("response without devices");
				for (const { entry, text } of states) this.#applyState(entry, text);
				for (const id of some.slice(0, count)) if (this.#isNeeded(id)) this.#live.add(id);
				next += count;
			}
		} catch (error) {
			if (!(error instanceof BusError)) onError(error);
		}
	}

	/** Applies a gathered state unless a later uplink arrived. */
	#applyState({ sessionId, lastSeenAt, device: facts }: DirectoryEntry, text: string): void {
		const { events, sessions, monotonic } = this.#options;
		const session = sessions.find(sessionId);
		const device = session?.device;
		if (!device || !session.link.isRemote || facts.lastReportAt < device.lastReportAt) return;
		session.lastSeenAt = Math.max(session.lastSeenAt, lastSeenAt);
		applyFacts(device, facts, monotonic());
		device.state.set(Buffer.from(text));
		events.emit("deviceChanged", device);
	}
}
