/** Plays sounds on devices, follows what each says, and reports it. Kept in memory: an announcement is over in minutes. */

import { randomBytes } from "node:crypto";
import { type UplinkOf, uplinks } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import type { AskedAnnouncement, Announcement as Shown } from "../api/announcement.js";
import type { Core } from "../extension.js";
import { Jobs } from "../jobs/jobs.js";
import { targetsOf } from "../jobs/targets.js";
import { HttpProblem } from "../problem.js";
import type { Device } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import { Announcement, type Moment } from "./announcement.js";
import type { Sounds } from "./sounds.js";
import type { Speak } from "./speech.js";

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
	readonly jobs: Jobs<Shown, Announcement>;
	readonly #options: AnnouncementsOptions;
	/** Ids of the devices whose uplinks are needed. */
	readonly #followed = new Set<string>();
	#unfollow: (() => void) | undefined;
	/** Kept or spoken sounds, by the id of the announcement that plays them. */
	readonly #held = new Map<string, string>();

	readonly sessions: SessionListener = {
		onChanged: ({ device }, reason) => {
			if (device && (reason === "disconnected" || reason === "replaced" || reason === "boot"))
				this.#lose(device);
		},
	};

	constructor(options: AnnouncementsOptions) {
		this.#options = options;
		this.jobs = new Jobs({
			core: options.core,
			channel: "announcements",
			noun: "announcement",
			onTick: (announcement) => this.#onTick(announcement),
			onRest: () => this.#rest(),
			followedMs,
		});
	}

	/**
	 * Plays a sound, as it was asked for.
	 * @returns its id
	 * @throws {HttpProblem} 404, 409, 422, 501
	 */
	async begin(asked: AskedAnnouncement): Promise<string> {
		const { core } = this.#options;
		const devices = targetsOf(core.sessions.devices, asked.targets);
		this.jobs.checkRoom();
		const id = randomBytes(8).toString("hex");
		const { url, name, lengthMs } = await this.#sourceOf(asked, id);
		const together = asked.together ?? devices.length > 1;
		const createdAt = core.now();
		const announcement = new Announcement({ id, name, lengthMs, createdAt, beganAt: core.monotonic() });
		this.jobs.add(announcement);
		this.#follow(devices);
		const value = { id, url, ...(asked.volume !== undefined && { volume: asked.volume }) };
		const payload = { command: "play_sound", value: together ? { ...value, ready: true } : value };
		for (const deviceId of devices) void this.#play(announcement, deviceId, payload);
		core.log.info({ announcement: id, devices: devices.length }, "announcement");
		await this.jobs.onBegun?.(id);
		return id;
	}

	/** Stops it on all devices. @throws {HttpProblem} 404 */
	stop(id: string): void {
		const announcement = this.jobs.known(id);
		for (const deviceId of announcement.running)
			void this.#send(deviceId, { command: "stop_sound", value: { id } });
	}

	async close(): Promise<void> {
		this.jobs.close();
		this.#unfollow?.();
		for (const sound of this.#held.values()) await this.#options.sounds.release(sound);
		this.#held.clear();
	}

	/** @throws {HttpProblem} 422, 501 */
	async #sourceOf({ sound, url, text }: AskedAnnouncement, id: string): Promise<Source> {
		if ([sound, url, text].filter((each) => each !== undefined && each !== "").length !== 1)
			throw new HttpProblem(422, "Say what to play: one of sound, url and text.");
		if (url !== undefined) return { url, name: null, lengthMs: undefined };
		const spoken = text ? await this.#speak(text) : undefined;
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
		const pieces = await this.#options.speak(text);
		return (await this.#options.sounds.add("", pieces, true)).id;
	}

	async #play(announcement: Announcement, deviceId: string, payload: object): Promise<void> {
		const device = this.#options.core.sessions.devices.get(deviceId);
		const set = (state: Parameters<Announcement["set"]>[1], reason: string) =>
			announcement.set(deviceId, state, this.#moment(), reason);
		if (!device) return set("away", "This device is not known.");
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
		const announcement = this.jobs.get(update.id);
		announcement?.hear(deviceId, update, this.#moment());
		if (announcement && update.state === "ready") this.#start(announcement);
	}

	/** A refusal names no sound: it is of the latest that the device was asked to play. */
	#refuse(deviceId: string, code: string, message: string): void {
		const asked = [...this.jobs.all()].findLast((each) => each.stateOf(deviceId) === "waiting");
		if (!asked) return;
		asked.set(deviceId, code === "busy" ? "busy" : "failed", this.#moment(), message);
		this.#start(asked);
	}

	/** It may still play, and says so when it is back. */
	#lose({ deviceId }: Device): void {
		for (const announcement of this.jobs.all())
			if (announcement.isRunning(deviceId)) {
				announcement.set(deviceId, "away", this.#moment(), "The device has disconnected.");
				this.#start(announcement);
			}
	}

	#start(announcement: Announcement): void {
		for (const deviceId of announcement.starts(this.#options.core.monotonic()))
			void this.#send(deviceId, { command: "start_sound", value: { id: announcement.id } });
	}

	#onTick(announcement: Announcement): void {
		this.#start(announcement);
		announcement.expire(this.#moment());
		if (announcement.endedAt === null) return;
		const held = this.#held.get(announcement.id);
		if (held !== undefined && this.#held.delete(announcement.id)) void this.#options.sounds.release(held);
	}

	#follow(ids: readonly string[]): void {
		const { monitors } = this.#options.core;
		for (const id of ids) this.#followed.add(id);
		this.#unfollow ??= monitors.follow(this.#followed, ({ device }, text) => {
			if (device) this.#receive(device.deviceId, text.toString());
		});
		monitors.changed();
	}

	/** Until then a device that had gone could still say how it ended. */
	#rest(): void {
		this.#followed.clear();
		this.#unfollow?.();
		this.#unfollow = undefined;
	}

	#moment(): Moment {
		const { now, monotonic } = this.#options.core;
		return { now: now(), monotonic: monotonic() };
	}
}
