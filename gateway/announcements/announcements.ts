/** Plays sounds on devices and tracks their progress. Kept in memory only, as an announcement takes minutes. */

import { messageOf } from "../../device/message-of.js";
import { parseHttpUrl } from "../../device/network/http-url.js";
import type { UplinkOf } from "../../device/protocol/messages.js";
import type { AnnouncementRequest, PlayState, Announcement as Shown, Sound } from "../api/announcement.js";
import type { DeviceEvent } from "../api/confirmation.js";
import type { Core } from "../extension.js";
import { Jobs } from "../jobs/jobs.js";
import { RequestError } from "../problem.js";
import type { StartOptions } from "../services/jobs.js";
import { Announcement, type PlayRequest } from "./announcement.js";
import { type Decoder, isEncoded } from "./decoder.js";
import type { Sounds } from "./sounds.js";
import type { Speech } from "./speech.js";

/** Time for which an announcement is tracked after its end. */
const followedMs = 5 * 60_000;
/**
 * Time for which the sound is kept after the end while an offline device may still play it. Shorter than
 * `followedMs`.
 */
const heldMs = 4 * 60_000;
/** Number of sounds sent ahead to a device, so that the second plays even if the connection is lost. */
const sentAtOnce = 2;
/** Limit of sounds queued per device, besides the current one. */
const maxWaiting = 8;

const isUrgent = ({ isUrgent }: Announcement) => isUrgent;

/** Text being spoken or file being decoded. */
interface Preparation {
	readonly ending: AbortController;
	readonly ended: Promise<void>;
}

export interface AnnouncementsOptions {
	readonly core: Core;
	readonly sounds: Sounds;
	readonly speech: Speech;
	readonly decoder: Decoder;
}

export class Announcements {
	readonly jobs: Jobs<Shown, Announcement>;
	readonly #options: AnnouncementsOptions;
	/** Ids of stored or spoken sounds by announcement id. */
	readonly #held = new Map<string, string>();
	/** Preparations by announcement id. */
	readonly #preparations = new Map<string, Preparation>();

	constructor(options: AnnouncementsOptions) {
		this.#options = options;
		this.jobs = new Jobs({
			core: options.core,
			channel: "announcements",
			noun: "announcement",
			onEvent: (deviceId, event) => this.#onEvent(deviceId, event),
			onTick: (announcement) => this.#onTick(announcement),
			onStop: (announcement) => this.#stop(announcement),
			followedMs,
			onShown: (frame) => options.core.events.emit("announcement", frame),
		});
	}

	/**
	 * Rejects an announcement that cannot be played, regardless of other announcements.
	 * @throws {RequestError} 422, 501
	 */
	check(request: AnnouncementRequest): void {
		const { sounds, speech, decoder } = this.#options;
		const { sound, url, text } = sourcesOf(request);
		this.jobs.devicesOf(request.targets);
		if ([sound, url, text].filter((source) => source !== undefined).length !== 1)
			throw new RequestError(422, "Specify exactly one of sound, url and text.");
		if (sound !== undefined && !sounds.find(sound))
			throw new RequestError(422, `Sound ${sound} not found. GET /api/sounds lists all.`);
		if (text !== undefined) speech.require(text);
		if (url !== undefined) {
			if (isEncoded(url)) decoder.require();
			else requireForDevices(url);
		}
	}

	/**
	 * Starts an announcement. Speaking a text, or fetching a URL with DECODE_COMMAND, continues after this resolves.
	 * @returns its id
	 * @throws {RequestError} 409, 422, 501, 503
	 */
	async begin(request: AnnouncementRequest, { by, onSent, ...given }: StartOptions): Promise<string> {
		const { core, sounds, speech, decoder } = this.#options;
		this.check(request);
		const { sound, url, text } = sourcesOf(request);
		const { id, devices } = { ...this.jobs.plan(request.targets), ...given };
		const kept = sound === undefined ? undefined : sounds.find(sound);
		const ending = new AbortController();
		const made =
			text !== undefined
				? speech.speak(text, ending.signal)
				: url !== undefined && decoder.isAvailable
					? decoder.decodeFrom(url, this.#mayReachPrivate(by), ending.signal)
					: undefined;

		const name = kept?.name ?? text ?? null;
		const again = () => (sound === undefined || sounds.find(sound) ? request : null);
		const announcement = new Announcement({ id, name, by, createdAt: core.now(), again, request });
		for (const deviceId of devices) announcement.parts.set(deviceId, "preparing", this.jobs.moment);
		this.jobs.add(announcement);
		if (made) {
			const ended = this.#prepare(announcement, made, ending.signal, url).then(onSent);
			this.#preparations.set(id, { ending, ended });
			void ended.finally(() => this.#preparations.delete(id));
		} else if (kept) {
			sounds.hold(kept.id);
			this.#playKept(announcement, kept);
		} else if (url !== undefined) this.#playOnAll(announcement, url);
		if (!made) onSent?.(null);
		return id;
	}

	/** Whether the gateway may fetch from private addresses for a person, according to the present role, or for another program. */
	#mayReachPrivate(by: string | null): boolean {
		const { tokens, settings } = this.#options.core;
		const isMonitor = tokens.people.some(({ name, role }) => name === by && role === "monitor");
		return by === null || isMonitor || !settings.auth;
	}

	/** Stops an announcement on all devices. */
	#stop(announcement: Announcement): void {
		const { id, parts } = announcement;
		this.#preparations.get(id)?.ending.abort();
		for (const deviceId of parts.running)
			if (announcement.isSent(deviceId))
				void this.#execute(deviceId, { command: "stop_sound", value: { id } });
			else parts.set(deviceId, "stopped", this.jobs.moment, "command");
	}

	async close(): Promise<void> {
		for (const { ending } of this.#preparations.values()) ending.abort();
		for (const { ended } of this.#preparations.values()) await ended;
	}

	/**
	 * Plays a sound once it is available.
	 * @param made undefined: devices load it from the URL
	 * @returns reason why it is not played, or null
	 */
	async #prepare(
		announcement: Announcement,
		made: Promise<readonly Uint8Array[] | undefined>,
		signal: AbortSignal,
		url = "",
	): Promise<string | null> {
		const { sounds, core } = this.#options;
		try {
			const content = await made;
			const sound = content && (await sounds.add("", content, true));
			if (!signal.aborted)
				if (sound) this.#playKept(announcement, sound);
				else this.#playOnAll(announcement, url);
			else if (sound) await sounds.release(sound.id);
			return signal.aborted ? "Stopped while the sound was prepared." : null;
		} catch (error) {
			if (!(error instanceof RequestError))
				core.log.error({ announcement: announcement.id, err: error }, "preparing an announcement failed");
			const reason =
				error instanceof RequestError
					? error.message
					: "Storing the sound failed. The gateway's log has the reason.";
			for (const deviceId of announcement.parts.running)
				announcement.parts.set(deviceId, "failed", this.jobs.moment, reason);
			return reason;
		}
	}

	/** @param sound already held for the announcement */
	#playKept(announcement: Announcement, { id, seconds }: Sound): void {
		this.#held.set(announcement.id, id);
		this.#playOnAll(announcement, `/sounds/${id}.wav`, seconds * 1000);
	}

	/** @param lengthMs undefined: unknown */
	#playOnAll(announcement: Announcement, url: string, lengthMs?: number): void {
		announcement.request(url, lengthMs, this.jobs.moment);
		for (const deviceId of announcement.parts.running) this.#queue(announcement, deviceId);
	}

	#queue(announcement: Announcement, deviceId: string): void {
		const device = this.#options.core.sessions.devices.get(deviceId);
		const { parts } = announcement;
		const set = (state: PlayState, reason: string) => parts.set(deviceId, state, this.jobs.moment, reason);
		if (!device) return set("away", "Unknown device.");
		if (!device.session.connected) return set("away", "The device is offline.");
		if (!device.session.handshake.features.includes("sound"))
			return set("unsupported", "The firmware does not support sounds. Update it.");
		if (this.#runningOn(deviceId).length > maxWaiting)
			return set(
				"busy",
				`${maxWaiting} announcements are queued for this device, the maximum. Stop one or try again later.`,
			);
		parts.set(deviceId, "waiting", this.jobs.moment);
		this.#sendNext(deviceId);
	}

	/** Announcements that a device plays or will play. */
	#runningOn(deviceId: string): readonly Announcement[] {
		return [...this.jobs.all()].filter((announcement) => announcement.isRequested(deviceId));
	}

	/** Sends a device as many sounds as it has room for, by priority, then in order. */
	#sendNext(deviceId: string): void {
		const { session } = this.#options.core.sessions.devices.get(deviceId) ?? {};
		if (!session) return;
		const { features } = session.handshake;
		const hasQueue = features.includes("queue");
		const running = this.#runningOn(deviceId);
		const sent = running.filter((announcement) => announcement.isSent(deviceId));
		const others = running.filter((announcement) => !announcement.isSent(deviceId));
		for (const next of others.sort((a, b) => a.rank - b.rank)) {
			const hasRoom = sent.length < (hasQueue ? sentAtOnce : 1) && !sent.some(isUrgent);
			if (!hasRoom && (!next.isUrgent || sent.some(isUrgent))) return;
			sent.push(next);
			void this.#play(next, deviceId, next.send(deviceId, features, this.jobs.moment));
		}
	}

	async #play({ parts }: Announcement, deviceId: string, value: PlayRequest): Promise<void> {
		const rejection = await this.#execute(deviceId, { command: "play_sound", value });
		if (!rejection || parts.stateOf(deviceId) !== "waiting") return;
		parts.set(deviceId, "failed", this.jobs.moment, rejection.message);
		this.#sendNext(deviceId);
	}

	#execute(targetId: string, payload: object) {
		return this.jobs.execute({ type: "control_device", targetId, payload });
	}

	#onEvent(deviceId: string, event: DeviceEvent): void {
		if (event.type === "sound_update") this.#onUpdate(deviceId, event);
		else if (event.type === "gone") this.#onDisconnected(deviceId);
		else if (event.type === "command_error" && event.command === "play_sound")
			this.#onRejected(deviceId, event.code, event.message);
	}

	#onUpdate(deviceId: string, update: UplinkOf<"sound_update">): void {
		const announcement = this.jobs.get(update.id);
		announcement?.onUpdate(deviceId, update, this.jobs.moment);
		if (!announcement) return;
		if (update.state === "ready") this.#start(announcement);
		if (!announcement.parts.isRunning(deviceId)) this.#sendNext(deviceId);
	}

	/**
	 * Handles a rejection. It has no sound id and refers to the latest request. If the device's queue is full
	 * of sounds unknown to this gateway, the sound is queued here again.
	 */
	#onRejected(deviceId: string, code: string, message: string): void {
		const latest = [...this.jobs.all()]
			.filter(({ parts }) => parts.stateOf(deviceId) === "waiting")
			.filter((announcement) => announcement.isSent(deviceId))
			.sort((a, b) => a.sentAt(deviceId) - b.sentAt(deviceId))
			.at(-1);
		if (!latest) return;
		const hasOthers = this.#runningOn(deviceId).some(
			(running) => running !== latest && running.isSent(deviceId),
		);
		if (code === "busy" && hasOthers) return latest.requeue(deviceId);
		latest.parts.set(deviceId, code === "busy" ? "busy" : "failed", this.jobs.moment, message);
		this.#start(latest);
		this.#sendNext(deviceId);
	}

	/** Marks sounds of a disconnected device as away. It may still play them and report later. */
	#onDisconnected(deviceId: string): void {
		for (const announcement of this.jobs.all())
			if (announcement.isRequested(deviceId)) {
				announcement.parts.set(deviceId, "away", this.jobs.moment, "The device disconnected.");
				this.#start(announcement);
			}
	}

	#start(announcement: Announcement): void {
		for (const deviceId of announcement.starts(this.#options.core.monotonic()))
			void this.#execute(deviceId, { command: "start_sound", value: { id: announcement.id } });
	}

	#onTick(announcement: Announcement): void {
		this.#start(announcement);
		for (const deviceId of announcement.expire(this.jobs.moment)) this.#sendNext(deviceId);
		const isHeldMs = announcement.mayStillPlay ? heldMs : 0;
		if (!announcement.parts.endedBefore(isHeldMs, this.jobs.moment)) return;
		const held = this.#held.get(announcement.id);
		if (held !== undefined && this.#held.delete(announcement.id)) void this.#options.sounds.release(held);
	}
}

/**
 * Validates a URL that devices fetch themselves.
 * @throws {RequestError} 422
 */
function requireForDevices(url: string): void {
	try {
		parseHttpUrl(url, "sound");
	} catch (error) {
		throw new RequestError(422, messageOf(error));
	}
}

function sourcesOf({ sound, url, text }: AnnouncementRequest) {
	return { sound, url, text: text || undefined };
}
