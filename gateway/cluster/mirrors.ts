/**
 * The sessions of other gateways, as those tell of them. Their reports are kept only while monitors here need them:
 * the latest ones live with their owner, and are gathered on request.
 */

import { type Bus, BusError, subjectOf } from "../bus.js";
import { type Device, keptReport, otherFieldsBytes } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import type { Member, Members } from "./members.js";
import type { Interest, ListRequest, News, ToldSession } from "./messages.js";
import { MirrorLink, mirror } from "./mirror.js";
import { readPiece } from "./read-messages.js";
import type { RelayedUplink } from "./relay.js";

export interface MirrorsOptions {
	readonly bus: Bus;
	readonly sessions: Sessions;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	readonly members: Pick<Members, "up">;
	/** A list could not be read. */
	readonly onError: (error: unknown) => void;
}

const pieceMs = 3_000;
/** Ended in one turn of the event loop. */
const endedAtOnce = 200;

export class Mirrors {
	readonly #options: MirrorsOptions;
	#interest: Interest = { all: false, summary: false, devices: [] };
	#devices: ReadonlySet<string> = new Set();
	/** Ids of devices of other gateways whose report is kept. */
	readonly #kept = new Set<string>();
	/** Of `#devices`, those whose report is up to date. */
	readonly #live = new Set<string>();
	#areAllLive = false;
	#gathering: Promise<void> | undefined;

	constructor(options: MirrorsOptions) {
		this.#options = options;
	}

	/** What monitors here need from now on; the others were told. */
	need(interest: Interest): void {
		const { sessions, members } = this.#options;
		const neededSummary = this.#interest.summary;
		this.#interest = interest;
		this.#devices = new Set(interest.devices);
		if (this.#areAllLive && !interest.all) for (const id of this.#kept) this.#live.add(id);
		this.#areAllLive &&= interest.all;
		for (const id of this.#live) if (!this.#devices.has(id)) this.#live.delete(id);
		for (const id of this.#kept) {
			if (this.#isNeeded(id)) continue;
			this.#kept.delete(id);
			const device = sessions.devices.get(id);
			if (device?.session.link.isRemote) device.state.clear();
		}
		if (neededSummary || !interest.summary) return;
		for (const member of members.up) void this.#ask(member, { changed: true });
	}

	/** Gets the latest reports of these devices, or of all. Resolves once they are here, or cannot be had. */
	async gather(ids?: readonly string[]): Promise<void> {
		if (this.#areAllLive) return;
		if (!ids) {
			this.#gathering ??= this.#gatherAll();
			return this.#gathering;
		}
		const asked = new Map<Member, string[]>();
		for (const id of ids) {
			const { link } = this.#options.sessions.devices.get(id)?.session ?? {};
			if (!(link instanceof MirrorLink) || !link.member.isUp || this.#live.has(id)) continue;
			asked.set(link.member, [...(asked.get(link.member) ?? []), id]);
		}
		const ask = async ([member, only]: readonly [Member, readonly string[]]) => {
			if (!(await this.#ask(member, { only, reports: only }))) return;
			for (const id of only) if (this.#devices.has(id)) this.#live.add(id);
		};
		await Promise.all([...asked].map(ask));
	}

	/** Asks for all sessions of a gateway. Those that it has no more are ended. */
	async list(member: Member): Promise<void> {
		if (member.isListing) return;
		member.isListing = true;
		member.isBehind = false;
		member.lists += 1;
		member.ended.clear();
		const { all, devices } = this.#interest;
		const told = await this.#ask(member, { reports: all ? "all" : devices });
		member.isListing = false;
		member.isBehind ||= told === undefined;
		if (told === undefined || !member.isUp) return;
		const { sessions } = this.#options;
		for (const session of [...sessions.list()]) {
			const { link } = session;
			if (!(link instanceof MirrorLink) || link.member !== member) continue;
			if (link.list !== member.lists && link.revision <= told) sessions.end(session, "disconnected");
		}
	}

	/** Asks again for sessions that did not stand: the other one may have ended unnoticed. */
	async settle(member: Member): Promise<void> {
		const only = [...member.disputed];
		member.disputed.clear();
		if (only.length > 0) member.isBehind ||= (await this.#ask(member, { only })) === undefined;
	}

	/** A gateway tells of a session. @param reason undefined: in a list */
	take(member: Member, told: ToldSession, reason?: News["reason"]): void {
		if (!member.isUp) return;
		if (reason && !told.connected) member.ended.add(told.sessionId);
		if (!reason && member.ended.has(told.sessionId)) return;
		const { sessions } = this.#options;
		const known = sessions.find(told.sessionId);
		const mirrored = known?.link instanceof MirrorLink ? known.link : undefined;
		// Another gateway may tell of a session that it knows from disk: its revisions count something else.
		const link = mirrored?.member === member ? mirrored : new MirrorLink(member);
		link.list = member.lists;
		if (told.revision < link.revision) return;
		const isNews = told.revision > link.revision;
		const listed = known?.connected ? "identified" : undefined;
		const heardAt = known?.device?.lastReportAt ?? 0;
		link.revision = told.revision;
		const shown = reason === "report" ? undefined : (reason ?? listed);
		const session = mirror(this.#options, told, link, isNews ? shown : undefined);
		if (!session && told.connected && told.device) member.disputed.add(told.device.deviceId);
		const device = session?.device;
		if (!device) return;
		if (told.state !== undefined && device.lastReportAt >= heardAt) this.#keep(device, told.state);
		else if (session !== known && !this.#isNeeded(device.deviceId)) device.state.clear();
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
		this.#keep(device, text.length <= otherFieldsBytes ? text : keptReport(JSON.parse(text), text));
		return session;
	}

	/** A gateway is down: its devices are disconnected until it is back. */
	async end(member: Member): Promise<void> {
		const { sessions } = this.#options;
		let count = 0;
		for (const session of [...sessions.list()]) {
			const { link } = session;
			if (!(link instanceof MirrorLink) || link.member !== member) continue;
			if (member.isUp) return;
			if (!session.connected) continue;
			session.lastSeenAt = Math.max(session.lastSeenAt, member.seenAt);
			sessions.end(session, "disconnected");
			count += 1;
			if (count % endedAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
		}
	}

	#isNeeded(deviceId: string): boolean {
		return this.#interest.all || this.#devices.has(deviceId);
	}

	#keep(device: Device, text: string): void {
		device.state.set(text);
		this.#kept.add(device.deviceId);
	}

	async #gatherAll(): Promise<void> {
		const { up } = this.#options.members;
		const answers = await Promise.all(up.map((member) => this.#ask(member, { reports: "all" })));
		this.#areAllLive = this.#interest.all && answers.every((told) => told !== undefined);
		this.#gathering = undefined;
	}

	/** @returns `told` of its first piece; undefined if it has not answered to the end */
	async #ask(member: Member, request: ListRequest): Promise<number | undefined> {
		const subject = subjectOf("gw", "list", member.id);
		let told: number | undefined;
		let after: number | undefined = 0;
		try {
			while (after !== undefined) {
				const text = await this.#options.bus.request(subject, JSON.stringify({ ...request, after }), pieceMs);
				const piece = readPiece(text, this.#options.onError);
				told ??= piece.told;
				if (piece.next !== undefined && piece.next <= after) throw new RangeError("the list does not end");
				for (const session of piece.sessions) this.take(member, session);
				after = piece.next;
			}
			return told;
		} catch (error) {
			if (!(error instanceof BusError)) this.#options.onError(error);
			return undefined;
		}
	}
}
