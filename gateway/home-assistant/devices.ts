/**
 * Publishes the devices of this gateway: differences from the broker's state, at most once a second per
 * device, and everything after each connection. A device that another gateway published since is left to it
 * until it sends a message here. Its topics are removed only then, as Home Assistant reads them until that
 * gateway's discovery message.
 */

import { createHash } from "node:crypto";
import { uplinks } from "../../device/protocol/messages.js";
import { integer, isRecord, matches } from "../../device/protocol/schema.js";
import type { Release } from "../api/firmware.js";
import { parseJson } from "../api/json.js";
import { offeredReleases } from "../api/offered-releases.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import { fits } from "../firmware/image.js";
import type { Device, Session } from "../sessions/device.js";
import { Queue } from "../storage/queue.js";
import type { Broker } from "./broker.js";
import {
	deviceIdIn,
	discoveryText,
	discoveryTopic,
	type Gateway,
	gatewayText,
	gatewayTopic,
	isDiscoveredBy,
} from "./discovery.js";
import { type Facts, stateOf } from "./entities.js";

interface PublishedDevice {
	/** Digests of the messages at the broker, by topic. */
	readonly published: Map<string, string>;
	/** Latest brightness above 0, in percent. */
	brightness: number;
	/** Session in which it was published; another gateway may have published the device between two sessions. */
	session: Session;
	publishedAt: number;
	isPlanned: boolean;
}

const pauseMs = 1_000;
const retryMs = 60_000;
const percent = integer(0, 100);

export interface DevicesOptions {
	readonly core: Core;
	readonly broker: Broker;
	/** Discovery prefix of Home Assistant. */
	readonly prefix: string;
	readonly gateway: Gateway;
}

export class Devices {
	readonly #options: DevicesOptions;
	/** Devices published by this gateway. */
	readonly #own = new WeakMap<Device, PublishedDevice>();
	/** Devices published by another gateway since their latest message here. */
	readonly #left = new WeakSet<Device>();
	/** Publishes one device at a time, with its state at that time. */
	readonly #queue = new Queue();
	#release: Release | undefined;
	#tones: ReadonlyMap<string, string> = new Map();
	#offers = "";
	/** Repeats publishing of rejected topics, which may be allowed meanwhile. */
	readonly #rejectedTopics = new Map<string, () => void>();
	#retriedAt = 0;

	constructor(options: DevicesOptions) {
		this.#options = options;
	}

	readonly listeners: Listeners = {
		sessionChanged: ({ device }) => {
			if (device) this.#touch(device);
		},
		uplink: ({ device }) => {
			if (!device) return;
			this.#left.delete(device);
			this.#touch(device);
		},
		quietHoursChanged: () => this.#touchAll(),
		deviceForgotten: (device, why) => {
			// The other gateway of the cluster may have stopped.
			const isOfOthers = isAtAnotherGateway(device) && why !== "removed";
			this.remove(device.deviceId, this.#own.delete(device) || isOfOthers);
		},
	};

	/** Updates the available release and sounds. Must be polled, as neither has change events. */
	async refresh(): Promise<void> {
		const { firmware, services, settings, monotonic } = this.#options.core;
		const catalog = await firmware.catalog.read();
		const { latest, releases } = offeredReleases(catalog, settings.releaseKeys.length > 0);
		this.#release = releases.find(({ version }) => version === latest);
		this.#tones = new Map(services.announcementJobs?.sounds().map(({ id, name }) => [name, id]));
		const offers = JSON.stringify([this.#release, ...this.#tones]);
		if (offers !== this.#offers) this.#touchAll();
		this.#offers = offers;
		if (monotonic() - this.#retriedAt < retryMs) return;
		this.#retriedAt = monotonic();
		const retries = [...this.#rejectedTopics.values()];
		this.#rejectedTopics.clear();
		for (const retry of retries) retry();
	}

	/** Publishes everything, then the gateway's status, as the broker's state may be outdated. Resolves when done. */
	publishAll(): Promise<void> {
		const { prefix, gateway } = this.#options;
		// First, as devices refer to the gateway.
		this.#add(() => this.#retain(gatewayTopic(prefix, gateway.name), gatewayText(gateway)));
		this.#touchAll(true);
		return this.#add(() => this.#retain(`${gateway.base}/status`, "online"));
	}

	/** Handles a message below this gateway's base topic, from another client or a previous connection. */
	onOwn(topic: string, deviceId: string, text: string, isRetained: boolean): void {
		const { core, gateway } = this.#options;
		const device = core.sessions.devices.get(deviceId);
		if (topic === `${gateway.base}/status`) {
			// Status from an earlier connection or another client.
			if (!isRetained && text !== "online") this.#add(() => this.#retain(topic, "online"));
		} else if (text === "") this.#onVanished(device, topic);
		else if (!isRetained) return;
		else if (!device || this.#left.has(device)) this.remove(deviceId, false);
		else if (topic.endsWith("/state")) this.#restore(device, text);
	}

	/** Handles a discovery message from another client or a previous connection. */
	onDiscovery(topic: string, text: string): void {
		const { core, prefix, gateway } = this.#options;
		const deviceId = deviceIdIn(prefix, topic);
		if (deviceId === undefined) return;
		const device = core.sessions.devices.get(deviceId);
		if (text === "") this.#onVanished(device, topic);
		else if (isDiscoveredBy(text, gateway.base)) {
			if (!device) this.remove(deviceId, true);
		} else if (device) this.#leave(device);
	}

	/**
	 * Removes a device from the broker by an empty retained message.
	 * @param isForgotten whether all gateways removed it
	 */
	remove(deviceId: string, isForgotten: boolean): void {
		const { core, prefix, gateway } = this.#options;
		const { base } = gateway;
		this.#add(async () => {
			const device = core.sessions.devices.get(deviceId);
			if (device && this.#own.has(device)) return;
			if (isForgotten && !device) await this.#retain(discoveryTopic(prefix, deviceId), "");
			await this.#retain(`${base}/${deviceId}/state`, "");
			await this.#retain(`${base}/${deviceId}/availability`, "");
		});
	}

	factsOf(device: Device): Facts {
		const release = this.#release?.images.some((image) => fits(image, device)) ? this.#release : undefined;
		const { services } = this.#options.core;
		const canSpeak = services.announcementJobs?.canSpeak === true;
		return { device, release, tones: this.#tones, canSpeak, quietHours: services.quietHours };
	}

	/** Publishes a device again after its next message. */
	#onVanished(device: Device | undefined, topic: string): void {
		if (device) this.#own.get(device)?.published.delete(topic);
	}

	#leave(device: Device): void {
		this.#left.add(device);
		if (this.#own.delete(device)) this.remove(device.deviceId, false);
	}

	/**
	 * Restores the brightness of a light that is off, which only the broker has.
	 * @param text state of the device
	 */
	#restore(device: Device, text: string): void {
		const own = this.#own.get(device) ?? this.#adopt(device);
		const state = parseJson(text);
		if (!own || own.brightness > 0 || !isRecord(state) || !matches(percent, state.brightness)) return;
		own.brightness = state.brightness;
		this.#touch(device);
	}

	/** @param isLost whether the broker may have lost its state */
	#touchAll(isLost = false): void {
		for (const device of this.#options.core.sessions.devices.values()) {
			const own = this.#own.get(device);
			if (own && isLost) Object.assign(own, { published: new Map(), publishedAt: Number.NEGATIVE_INFINITY });
			this.#touch(device);
		}
	}

	#touch(device: Device): void {
		const own = this.#own.get(device) ?? (isAtAnotherGateway(device) ? undefined : this.#adopt(device));
		if (!own || own.isPlanned) return;
		own.isPlanned = true;
		const publish = () => this.#add(() => this.#publish(device, own));
		const waitMs = own.publishedAt + pauseMs - this.#options.core.monotonic();
		if (waitMs > 0) setTimeout(publish, waitMs).unref();
		else publish();
	}

	#adopt(device: Device): PublishedDevice | undefined {
		const { deviceId, session } = device;
		const isForgotten = this.#options.core.sessions.devices.get(deviceId) !== device;
		if (isForgotten || this.#left.has(device)) return undefined;
		const publishedAt = Number.NEGATIVE_INFINITY;
		const own = {
			published: new Map(),
			brightness: 0,
			session,
			publishedAt,
			isPlanned: false,
		};
		this.#own.set(device, own);
		return own;
	}

	async #publish(device: Device, own: PublishedDevice): Promise<void> {
		const { core, broker, prefix, gateway } = this.#options;
		const { base } = gateway;
		const { deviceId, session, state, hasReported } = device;
		own.isPlanned = false;
		// Everything is published later.
		if (!broker.isReady || this.#own.get(device) !== own) return;
		own.publishedAt = core.monotonic();
		const availability = `${base}/${deviceId}/availability`;
		if (isAtAnotherGateway(device)) {
			if (!session.connected) await this.#retain(availability, "offline", own);
			return;
		}
		if (own.session !== session) own.published.clear();
		own.session = session;
		const facts = this.factsOf(device);
		const parsed = parseJson(state.text ?? "null");
		const report = matches(uplinks.state_report, parsed) ? parsed : undefined;
		const discovery = discoveryText(facts, gateway, report?.system.mac_address);
		const isNew = await this.#retain(discoveryTopic(prefix, deviceId), discovery, own);
		// Home Assistant resets a siren's state on a new configuration (mqtt/siren.py, _setup_from_config).
		if (isNew) own.published.delete(`${base}/${deviceId}/state`);
		if (report) {
			const shown = stateOf(report, facts, own.brightness);
			own.brightness = shown.brightness;
			await this.#retain(`${base}/${deviceId}/state`, JSON.stringify(shown), own);
		}
		// Last, and only after this connection's report was published, as the state may be outdated before.
		const isAvailable = session.connected && hasReported;
		await this.#retain(availability, isAvailable ? "online" : "offline", own);
	}

	async #add(work: () => Promise<unknown>): Promise<void> {
		await this.#queue
			.add(work)
			.catch((error) => this.#options.core.log.error({ err: error }, "Home Assistant"));
	}

	/**
	 * Publishes a retained message. Resolves once the broker has it, waiting for a connection.
	 * @param own skips a message that the broker has
	 * @returns whether it was published
	 */
	async #retain(topic: string, text: string, own?: PublishedDevice): Promise<boolean> {
		const digest = createHash("sha1").update(text).digest("base64");
		if (own?.published.get(topic) === digest) return false;
		own?.published.set(topic, digest);
		this.#rejectedTopics.delete(topic);
		const retry = () => {
			own?.published.delete(topic);
			if (own?.session.device) this.#touch(own.session.device);
			else this.#add(() => this.#retain(topic, text));
		};
		if (!(await this.#options.broker.retain(topic, text))) this.#rejectedTopics.set(topic, retry);
		return true;
	}
}

/** Whether another gateway has the device and publishes it. */
export function isAtAnotherGateway({ session }: Device): boolean {
	return session.link.isRemote === true;
}
