/** Plays sounds on devices, follows what each says, and reports it. Kept in memory: an announcement is over in minutes. */

import { randomBytes } from "node:crypto";
import { type UplinkOf, uplinks } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import type { AskedAnnouncement, Announcement as Shown, Targets } from "../api/announcement.js";
import { frameText } from "../api/frames.js";
import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import type { Device } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import { Announcement, type Moment } from "./announcement.js";
import type { Sounds } from "./sounds.js";
import type { Speak } from "./speech.js";

const keptAtMost = 100;
const runningAtMost = 20;
const tickMs = 250;
/** After its end. */
const followedMs = 5 * 60_000;

/** What is played, and what belongs to it. */
interface Source {
	readonly url: string;
	readonly name: string | null;
	readonly lengthMs: number | undefined;
}

export interface AnnouncementsOptions {
	readonly core: Pick<Core, "sessions" | "monitors" | "execute" | "now" | "monotonic" | "log">;
	readonly sounds: Pick<Sounds, "add" | "find" | "hold" | "release">;
	readonly speak: Speak;
}

export class Announcements {
	/** Called with the id of each announcement that begins, and awaited before it is answered. */
	onBegun: ((id: string) => Promise<void>) | undefined;
	/** Called with each frame for monitors. */
	onFrame: ((frame: string) => void) | undefined;
	readonly #options: AnnouncementsOptions;
	/** By id, the oldest first. */
	readonly #announcements = new Map<string, Announcement>();
	/** Ids of the devices whose uplinks are needed. */
	readonly #followed = new Set<string>();
	#unfollow: (() => void) | undefined;
	/** Kept or spoken sounds, by the id of the announcement that plays them. */
	readonly #held = new Map<string, string>();
	#timer: NodeJS.Timeout | undefined;

	readonly sessions: SessionListener = {
		onChanged: ({ device }, reason) => {
			if (device && (reason === "disconnected" || reason === "replaced" || reason === "boot"))
				this.#lose(device);
		},
	};

	constructor(options: AnnouncementsOptions) {
		this.#options = options;
	}

	/** The newest first. */
	list(): readonly Shown[] {
		return [...this.#announcements.values()].reverse().map((each) => each.describe());
	}

	/** @throws {HttpProblem} 404 */
	find(id: string): Shown {
		return this.#find(id).describe();
	}

	/**
	 * Plays a sound, as it was asked for.
	 * @returns its id
	 * @throws {HttpProblem} 404, 409, 422, 501
	 */
	async begin(asked: AskedAnnouncement): Promise<string> {
		const { core } = this.#options;
		const devices = this.#targetsOf(asked.targets);
		const isRunning = ({ endedAt }: Announcement) => endedAt === null;
		if ([...this.#announcements.values()].filter(isRunning).length >= runningAtMost)
			throw new HttpProblem(409, `${runningAtMost} announcements are playing; wait until one has ended.`);
		const id = randomBytes(8).toString("hex");
		const { url, name, lengthMs } = await this.#sourceOf(asked, id);
		const together = asked.together ?? devices.length > 1;
		const createdAt = core.now();
		const announcement = new Announcement({ id, name, lengthMs, createdAt, beganAt: core.monotonic() });
		this.#announcements.set(id, announcement);
		this.#makeRoom();
		this.#follow(devices.map((device) => (typeof device === "string" ? device : device.deviceId)));
		this.#timer ??= setInterval(() => this.#tick(), tickMs).unref();
		const value = { id, url, ...(asked.volume !== undefined && { volume: asked.volume }) };
		const payload = { command: "play_sound", value: together ? { ...value, ready: true } : value };
		for (const device of devices) void this.#play(announcement, device, payload);
		core.log.info({ announcement: id, devices: devices.length }, "announcement");
		await this.onBegun?.(id);
		return id;
	}

	/** Stops it on all devices. @throws {HttpProblem} 404 */
	stop(id: string): void {
		const announcement = this.#find(id);
		for (const deviceId of announcement.running)
			void this.#send(deviceId, { command: "stop_sound", value: { id } });
	}

	/** Frames for a monitor that asks for announcements. */
	frames(): readonly string[] {
		return [...this.#announcements.values()]
			.filter(({ endedAt }) => endedAt === null)
			.map((each) => frameOf(each, each.describe().devices));
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		this.#timer = undefined;
		this.#unfollow?.();
		for (const sound of this.#held.values()) await this.#options.sounds.release(sound);
		this.#held.clear();
	}

	/** @throws {HttpProblem} 404 */
	#find(id: string): Announcement {
		const announcement = this.#announcements.get(id);
		if (announcement) return announcement;
		throw new HttpProblem(404, `No announcement is called ${id}; see /api/announcements.`);
	}

	/** @throws {HttpProblem} 422 */
	#targetsOf({ all, room, devices: ids, ...rest }: Targets): readonly (Device | string)[] {
		const { sessions } = this.#options.core;
		if (
			[all, room, ids].filter((each) => each !== undefined && each !== false).length !== 1 ||
			Object.keys(rest).length > 0
		)
			throw new HttpProblem(
				422,
				'targets is one of {"all": true}, {"room": "Kitchen"} and {"devices": ["dev-1-a1b2c3"]}.',
			);
		const known = [...sessions.devices.values()];
		const found = ids
			? [...new Set(ids)].map((id) => sessions.devices.get(id) ?? id)
			: known.filter(({ label }) => all || label.room === room);
		if (found.length > 0) return found;
		throw new HttpProblem(
			422,
			room === undefined ? "targets names no device." : `No device is in the room ${room}.`,
		);
	}

	/** @throws {HttpProblem} 422, 501 */
	async #sourceOf({ sound, url, text }: AskedAnnouncement, id: string): Promise<Source> {
		if ([sound, url, text].filter((each) => each !== undefined).length !== 1)
			throw new HttpProblem(422, "Say what to play: one of sound, url and text.");
		if (url !== undefined) return { url, name: null, lengthMs: undefined };
		const spoken = text === undefined ? undefined : await this.#speak(text);
		const kept = this.#options.sounds.find(spoken ?? sound ?? "");
		if (!kept) throw new HttpProblem(422, `No sound is called ${sound}; see /api/sounds.`);
		// A spoken one is held already.
		if (spoken === undefined) this.#options.sounds.hold(kept.id);
		this.#held.set(id, kept.id);
		const name = spoken === undefined ? kept.name : null;
		return { url: `/sounds/${kept.id}.wav`, name, lengthMs: kept.seconds * 1000 };
	}

	/** @returns the id of a temporary sound @throws {HttpProblem} */
	async #speak(text: string): Promise<string> {
		const file = await this.#options.speak(text);
		return (await this.#options.sounds.add("", [file], true)).id;
	}

	async #play(announcement: Announcement, device: Device | string, payload: object): Promise<void> {
		const deviceId = typeof device === "string" ? device : device.deviceId;
		const set = (state: Parameters<Announcement["set"]>[1], reason: string) =>
			announcement.set(deviceId, state, this.#moment(), reason);
		if (typeof device === "string") return set("away", "This device is not known.");
		if (!device.session.connected) return set("away", "The device is not connected.");
		if (!device.session.handshake.features.includes("sound"))
			return set("unsupported", "The device's firmware plays no sounds; update it.");
		announcement.set(deviceId, "waiting", this.#moment());
		const problem = await this.#send(deviceId, payload);
		if (problem !== undefined && announcement.stateOf(deviceId) === "waiting") set("failed", problem);
	}

	/** @returns why it was not sent; undefined if it was */
	async #send(targetId: string, payload: object): Promise<string | undefined> {
		const { core } = this.#options;
		try {
			const { refusal } = await core.execute({ type: "control_device", targetId, payload });
			return refusal?.message;
		} catch (error) {
			core.log.error({ deviceId: targetId, err: error }, "a sound could not be asked for");
			return "The command could not be sent; see the gateway's log.";
		}
	}

	/** @param text an uplink that was checked */
	#receive(deviceId: string, text: string): void {
		const uplink: unknown = JSON.parse(text);
		if (matches(uplinks.sound_update, uplink)) this.#hear(deviceId, uplink);
		else if (matches(uplinks.command_error, uplink) && uplink.command === "play_sound")
			this.#refuse(deviceId, uplink.code, uplink.message);
	}

	#hear(deviceId: string, update: UplinkOf<"sound_update">): void {
		const announcement = this.#announcements.get(update.id);
		announcement?.hear(deviceId, update, this.#moment());
		if (announcement && update.state === "ready") this.#start(announcement);
	}

	/** A refusal names no sound: it is of the latest that the device was asked to play. */
	#refuse(deviceId: string, code: string, message: string): void {
		const asked = [...this.#announcements.values()].findLast((each) => each.stateOf(deviceId) === "waiting");
		if (!asked) return;
		asked.set(deviceId, code === "busy" ? "busy" : "failed", this.#moment(), message);
		this.#start(asked);
	}

	/** It may still play, and says so when it is back. */
	#lose({ deviceId }: Device): void {
		for (const announcement of this.#announcements.values())
			if (announcement.isRunning(deviceId)) {
				announcement.set(deviceId, "away", this.#moment(), "The device has disconnected.");
				this.#start(announcement);
			}
	}

	#start(announcement: Announcement): void {
		for (const deviceId of announcement.starts(this.#options.core.monotonic()))
			void this.#send(deviceId, { command: "start_sound", value: { id: announcement.id } });
	}

	#tick(): void {
		const { sounds } = this.#options;
		let isRunning = false;
		for (const announcement of this.#announcements.values()) {
			this.#start(announcement);
			announcement.expire(this.#moment());
			const changes = announcement.takeChanges();
			if (changes.length > 0) this.#announce(frameOf(announcement, changes));
			isRunning ||= announcement.endedAt === null;
			if (announcement.endedAt === null) continue;
			const held = this.#held.get(announcement.id);
			if (held !== undefined && this.#held.delete(announcement.id)) void sounds.release(held);
		}
		if (!isRunning) this.#rest();
	}

	#announce(frame: string): void {
		this.#options.core.monitors.broadcast("announcements", frame);
		this.onFrame?.(frame);
	}

	#follow(ids: readonly string[]): void {
		const { monitors } = this.#options.core;
		for (const id of ids) this.#followed.add(id);
		this.#unfollow ??= monitors.follow(this.#followed, ({ device }, text) => {
			if (device) this.#receive(device.deviceId, text);
		});
		monitors.changed();
	}

	/** To be called once nothing plays: a device that had gone may still say how it ended. */
	#rest(): void {
		const { now } = this.#options.core;
		const ends = [...this.#announcements.values()].map(({ endedAt }) => endedAt ?? Number.POSITIVE_INFINITY);
		if (ends.some((endedAt) => now() - endedAt < followedMs)) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
		this.#followed.clear();
		this.#unfollow?.();
		this.#unfollow = undefined;
	}

	/** Removes the oldest that are over. */
	#makeRoom(): void {
		for (const { id, endedAt } of this.#announcements.values()) {
			if (this.#announcements.size <= keptAtMost) return;
			if (endedAt !== null && !this.#held.has(id)) this.#announcements.delete(id);
		}
	}

	#moment(): Moment {
		const { now, monotonic } = this.#options.core;
		return { now: now(), monotonic: monotonic() };
	}
}

/** `announcement_update`, as monitors get it. */
function frameOf(announcement: Announcement, devices: Shown["devices"]): string {
	const { id, endedAt } = announcement;
	const counts = announcement.counts();
	return frameText<"announcement_update">({
		type: "announcement_update",
		id,
		isOver: endedAt !== null,
		counts,
		devices,
	});
}
