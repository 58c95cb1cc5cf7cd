/**
 * The sessions of other gateways, as the directory has them; those of a gateway that is not up are not connected. Their reports
 * are kept only while monitors here need them: the latest ones live with their gateway, and are gathered on request.
 */

import { isDeepStrictEqual } from "node:util";
import { noUpdate } from "../api/update.js";
import { type Bus, BusError, subjectOf } from "../bus.js";
import {
	type Device,
	type DeviceLink,
	type Handshake,
	keptReport,
	otherFieldsBytes,
	Session,
} from "../sessions/device.js";
import { featuresOf } from "../sessions/device-store.js";
import type { Sessions } from "../sessions/sessions.js";
import { frameCharacters } from "../sessions/view.js";
import type { Member, Members } from "./members.js";
import {
	type DeviceFacts,
	type DirectoryEntry,
	describeSession,
	type Interest,
	readStates,
} from "./messages.js";
import type { RelayedUplink } from "./relay.js";

/** To a device of another gateway; commands go there as a whole. */
export class MirrorLink implements DeviceLink {
	readonly isRemote = true;
	/** Its id. */
	readonly gateway: string;
	/** As the directory has it. */
	isConnected = false;
	readonly #members: Pick<Members, "find">;

	constructor(gateway: string, members: Pick<Members, "find">) {
		this.gateway = gateway;
		this.#members = members;
	}

	/** Undefined: it is not up. */
	get member(): Member | undefined {
		const member = this.#members.find(this.gateway);
		return member?.isUp ? member : undefined;
	}

	isOpen(): boolean {
		return this.member !== undefined;
	}

	send(): void {}
	close(): void {}
}

export interface MirrorsOptions {
	readonly bus: Bus;
	readonly sessions: Sessions;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	readonly members: Pick<Members, "up" | "find">;
	/** An answer could not be read. */
	readonly onError: (error: unknown) => void;
}

const answerMs = 3_000;
/** Asked for at once. */
const askedAtOnce = 500;
/** Changed in one turn of the event loop. */
const changedAtOnce = 200;

export class Mirrors {
	readonly #options: MirrorsOptions;
	#interest: Interest = { all: false, summary: false, devices: [] };
	#devices: ReadonlySet<string> = new Set();
	/** Ids of devices of other gateways whose report is kept. */
	readonly #kept = new Set<string>();
	/** Of these, those whose report is up to date: it was gathered, and uplinks are heard since. */
	readonly #live = new Set<string>();
	#gathering: Promise<void> | undefined;

	constructor(options: MirrorsOptions) {
		this.#options = options;
	}

	/** What monitors here need from now on; other gateways know it. */
	need(interest: Interest): void {
		const { sessions } = this.#options;
		this.#interest = interest;
		this.#devices = new Set(interest.devices);
		for (const id of this.#live) if (!this.#isNeeded(id)) this.#live.delete(id);
		for (const id of this.#kept) {
			if (this.#isNeeded(id)) continue;
			this.#kept.delete(id);
			const device = sessions.devices.get(id);
			if (device?.session.link.isRemote) device.state.clear();
		}
	}

	/** Gets the latest reports of these devices, or of all. Resolves once they are here, or cannot be had. */
	async gather(ids?: readonly string[]): Promise<void> {
		if (ids) return this.#gather(ids);
		this.#gathering ??= this.#gather(this.#options.sessions.devices.keys()).finally(() => {
			this.#gathering = undefined;
		});
		return this.#gathering;
	}

	/** Gathers again what is needed here: uplinks may have been missed. @param of default: all gateways */
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

	/** Answers `gather` of another gateway, as far as it fits one message. @param ids of devices here */
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
			const each = `{"entry":${describeSession(gateway, device.session, device)},"text":${JSON.stringify(text)}}`;
			texts.push(each);
			size += each.length;
		}
		return `{"count":${count},"states":[${texts.join(",")}]}`;
	}

	/** Takes in what the directory has of a device of another gateway. */
	take(entry: DirectoryEntry): void {
		const { sessions, members, monotonic } = this.#options;
		const { sessionId, device: facts } = entry;
		const { deviceId } = facts;
		const found = sessions.find(sessionId);
		// The same session may be known from disk, without its gateway.
		const known = found && gatewayOf(found) === entry.gateway ? found : undefined;
		// One text for all devices of a gateway.
		const gateway = members.find(entry.gateway)?.id ?? entry.gateway;
		const link = known?.link instanceof MirrorLink ? known.link : new MirrorLink(gateway, members);
		link.isConnected = entry.connected;
		const session = known ?? new Session(handshakeOf(entry), link, entry.connectedAt, sessionId);
		const wasConnected = known?.connected ?? false;
		const isConnected = entry.connected && link.isOpen();
		const { metadata, model, firmwareVersion } = known?.device ?? {};
		session.lastSeenAt = known ? Math.max(known.lastSeenAt, entry.lastSeenAt) : entry.lastSeenAt;
		session.connected = isConnected || wasConnected;
		if (!known || (!wasConnected && isConnected)) sessions.put(session, deviceId);
		const { device } = session;
		if (!device) return;
		apply(device, facts, monotonic());
		if (!known) {
			this.#live.delete(deviceId);
			if (!this.#isNeeded(deviceId)) device.state.clear();
		}
		if (wasConnected && !isConnected) sessions.end(session, entry.end ?? "disconnected");
		else if (!wasConnected && isConnected) sessions.announce(session, "connected");
		else if (!known) sessions.announce(session, "identified");
		else {
			if (device.model !== model || device.firmwareVersion !== firmwareVersion)
				sessions.announce(session, "identified");
			if (!isDeepStrictEqual(device.metadata, metadata)) sessions.announce(session, "ota");
		}
		sessions.touch(device);
	}

	/** An uplink of another gateway's device. @returns its session; undefined if it is not known as connected */
	hear({ sessionId, at, isStateReport, text }: RelayedUplink) {
		const session = this.#options.sessions.find(sessionId);
		if (!session?.connected || !session.link.isRemote) return undefined;
		session.lastSeenAt = at;
		const { device } = session;
		if (!device || !isStateReport) return session;
		device.lastReportAt = at;
		if (!this.#isNeeded(device.deviceId)) return session;
		this.#keep(
			device,
			text.length <= otherFieldsBytes ? text : keptReport(JSON.parse(text.toString()), text),
		);
		return session;
	}

	/** A gateway is up: its devices are connected, as the directory says. */
	async rise(member: Member): Promise<void> {
		const { sessions } = this.#options;
		await this.refresh(member);
		await this.#change(member, true, (session, link) => {
			if (session.connected || !link.isConnected || session.device?.session !== session) return;
			session.connected = true;
			sessions.put(session, session.device.deviceId);
			sessions.announce(session, "connected");
		});
	}

	/** A gateway is down: its devices are disconnected until it is back. */
	end(member: Member): Promise<void> {
		const { sessions } = this.#options;
		return this.#change(member, false, (session) => {
			if (!session.connected) return;
			session.lastSeenAt = Math.max(session.lastSeenAt, member.seenAt);
			sessions.end(session, "disconnected");
		});
	}

	async #change(
		member: Member,
		isUp: boolean,
		change: (session: Session, link: MirrorLink) => void,
	): Promise<void> {
		const { sessions } = this.#options;
		let count = 0;
		for (const session of [...sessions.list()]) {
			const { link } = session;
			if (!(link instanceof MirrorLink) || link.gateway !== member.id) continue;
			if (member.isUp !== isUp) return;
			if (sessions.find(session.sessionId) !== session) continue;
			change(session, link);
			count += 1;
			if (count % changedAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
		}
	}

	#isNeeded(deviceId: string): boolean {
		return this.#interest.all || this.#devices.has(deviceId);
	}

	#keep(device: Device, text: Buffer): void {
		device.state.set(text);
		this.#kept.add(device.deviceId);
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
		await Promise.all([...asked].map(([member, list]) => this.#ask(member, list)));
	}

	async #ask(member: Member, ids: readonly string[]): Promise<void> {
		const { bus, onError } = this.#options;
		const subject = subjectOf("gw", "states", member.id);
		try {
			for (let next = 0; next < ids.length; ) {
				const some = ids.slice(next, next + askedAtOnce);
				const { count, states } = readStates(await bus.request(subject, JSON.stringify(some), answerMs));
				if (count === 0) throw new RangeError("an answer is about no device");
				for (const { entry, text } of states) this.#takeState(entry, text);
				for (const id of some.slice(0, count)) if (this.#isNeeded(id)) this.#live.add(id);
				next += count;
			}
		} catch (error) {
			if (!(error instanceof BusError)) onError(error);
		}
	}

	/** Unless something later was heard. */
	#takeState({ sessionId, lastSeenAt, device: facts }: DirectoryEntry, text: string): void {
		const { sessions, monotonic } = this.#options;
		const session = sessions.find(sessionId);
		const device = session?.device;
		if (!device || !session.link.isRemote || facts.lastReportAt < device.lastReportAt) return;
		session.lastSeenAt = Math.max(session.lastSeenAt, lastSeenAt);
		apply(device, facts, monotonic());
		this.#keep(device, Buffer.from(text));
		sessions.touch(device);
	}
}

function apply(device: Device, facts: DeviceFacts, monotonic: number): void {
	device.model = facts.model;
	device.chip = facts.chip;
	device.firmwareVersion = facts.firmwareVersion ?? null;
	device.securityVersion = facts.securityVersion;
	device.metadata = facts.metadata ? { ...noUpdate, ...facts.metadata } : noUpdate;
	device.firstSeenAt = Math.min(device.firstSeenAt, facts.firstSeenAt);
	device.lastReportAt = facts.lastReportAt;
	device.settingsKeptAt = facts.settingsKeptAt ?? 0;
	device.uptimeSeconds = facts.uptimeSeconds;
	device.versions = facts.versions;
	device.resets = facts.resets;
	const { rssi = null, ssid = null, volume = null, safeMode, fault } = facts.vitals;
	const vitals = { rssi, ssid, volume };
	device.vitals =
		safeMode || fault !== undefined
			? { ...vitals, ...(safeMode && { safeMode }), ...(fault !== undefined && { fault }) }
			: vitals;
	device.setReported(facts.hasReported, monotonic);
}

function gatewayOf({ link }: Session): string | undefined {
	return link instanceof MirrorLink ? link.gateway : undefined;
}

/** As far as another gateway needs it. Without a spread, for which V8 makes a hidden class of each object. */
function handshakeOf({ handshake, device }: DirectoryEntry): Handshake {
	return {
		deviceId: device.deviceId,
		isBound: false,
		model: handshake.model,
		chip: handshake.chip,
		features: featuresOf(handshake.features),
		remoteAddress: handshake.remoteAddress,
		baseUrl: "",
	};
}
