/** Plays sounds on devices, follows what each says, and reports it. Kept in memory: an announcement is over in minutes. */

import { randomBytes } from "node:crypto";
import { type UplinkOf, uplinks } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import type { AskedAnnouncement, Announcement as Shown, Sound } from "../api/announcement.js";
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

/** A sound that is there. */
interface Source {
	readonly url: string;
	/** Undefined: not known. */
	readonly lengthMs: number | undefined;
}

/** A text that is being spoken. */
interface Preparation {
	readonly ending: AbortController;
	readonly ended: Promise<void>;
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
	/** By the id of the announcement. */
	readonly #preparations = new Map<string, Preparation>();

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
	 * Plays a sound, as it was asked for; a text is spoken first, which takes its time after this has returned.
	 * @param by the name of a person's token; null: there is none
	 * @returns its id
	 * @throws {HttpProblem} 409, 422, 501, 503
	 */
	async begin(asked: AskedAnnouncement, by: string | null): Promise<string> {
		const { core, sounds, speak } = this.#options;
		const { sound, url, text } = { ...asked, text: asked.text || undefined };
		const devices = targetsOf(core.sessions.devices, asked.targets);
		this.jobs.checkRoom();
		if ([sound, url, text].filter((each) => each !== undefined).length !== 1)
			throw new HttpProblem(422, "Say what to play: one of sound, url and text.");
		const kept = sound === undefined ? undefined : sounds.find(sound);
		if (sound !== undefined && !kept)
			throw new HttpProblem(422, `No sound is called ${sound}; see /api/sounds.`);
		const ending = new AbortController();
		const spoken = text === undefined ? undefined : speak(text, ending.signal);

		const id = randomBytes(8).toString("hex");
		const name = kept?.name ?? text ?? null;
		const again = () => (sound === undefined || sounds.find(sound) ? asked : null);
		const announcement = new Announcement({ id, name, by, createdAt: core.now(), again });
		for (const deviceId of devices) announcement.set(deviceId, "preparing", this.#moment());
		this.jobs.add(announcement);
		this.#follow(devices);
		if (spoken) {
			const ended = this.#prepare(announcement, asked, spoken, ending.signal);
			this.#preparations.set(id, { ending, ended });
			void ended.finally(() => this.#preparations.delete(id));
		} else if (kept) {
			sounds.hold(kept.id);
			this.#playKept(announcement, asked, kept);
		} else if (url !== undefined) this.#playOnAll(announcement, asked, { url, lengthMs: undefined });
		core.log.info({ announcement: id, devices: devices.length }, "announcement");
		await this.jobs.onBegun?.(id);
		return id;
	}

	/** Stops it on all devices. @throws {HttpProblem} 404 */
	stop(id: string): void {
		const announcement = this.jobs.known(id);
		this.#preparations.get(id)?.ending.abort();
		for (const deviceId of announcement.running)
			if (announcement.isAsked(deviceId)) void this.#send(deviceId, { command: "stop_sound", value: { id } });
			else announcement.set(deviceId, "stopped", this.#moment(), "command");
	}

	async close(): Promise<void> {
		this.jobs.close();
		this.#unfollow?.();
		for (const { ending } of this.#preparations.values()) ending.abort();
		for (const { ended } of this.#preparations.values()) await ended;
		for (const sound of this.#held.values()) await this.#options.sounds.release(sound);
		this.#held.clear();
	}

	/** Plays a text once it is spoken. */
	async #prepare(
		announcement: Announcement,
		asked: AskedAnnouncement,
		spoken: Promise<readonly Uint8Array[]>,
		signal: AbortSignal,
	): Promise<void> {
		const { sounds, core } = this.#options;
		try {
			const sound = await sounds.add("", await spoken, true);
			if (signal.aborted) await sounds.release(sound.id);
			else this.#playKept(announcement, asked, sound);
		} catch (error) {
			if (!(error instanceof HttpProblem))
				core.log.error({ announcement: announcement.id, err: error }, "a text could not be announced");
			const reason =
				error instanceof HttpProblem
					? error.message
					: "The spoken text could not be kept; the gateway's log says why.";
			for (const deviceId of announcement.running)
				announcement.set(deviceId, "failed", this.#moment(), reason);
		}
	}

	/** @param sound is held for it */
	#playKept(announcement: Announcement, asked: AskedAnnouncement, { id, seconds }: Sound): void {
		this.#held.set(announcement.id, id);
		this.#playOnAll(announcement, asked, { url: `/sounds/${id}.wav`, lengthMs: seconds * 1000 });
	}

	#playOnAll(announcement: Announcement, asked: AskedAnnouncement, { url, lengthMs }: Source): void {
		const { id, running: devices } = announcement;
		announcement.ask(lengthMs, this.#moment());
		const together = asked.together ?? devices.length > 1;
		const value = { id, url, ...(asked.volume !== undefined && { volume: asked.volume }) };
		const payload = { command: "play_sound", value: together ? { ...value, ready: true } : value };
		for (const deviceId of devices) void this.#play(announcement, deviceId, payload);
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
			if (announcement.isAsked(deviceId)) {
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
