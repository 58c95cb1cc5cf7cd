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
	/** Digests of the messages at the broker, by topic. */
	readonly #published = new Map<string, string>();
	/** Publishes one device at a time, with its state at that time. */
	readonly #queue = new Queue();
	#release: Release | undefined;
	#tones: ReadonlyMap<string, string> = new Map();
	#offers = "";
	/** Whether the broker has rejected a topic since the latest retry. */
	#hasRejected = false;
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
			const isOfOthers = device.session.link.isRemote === true && why !== "removed";
			this.remove(device.deviceId, this.#own.delete(device) || isOfOthers);
		},
	};

	/** Updates the available release and sounds. Must be polled, as neither has change events. */
	async refresh(): Promise<void> {
		const { core, broker } = this.#options;
		const { firmware, services, settings, monotonic } = core;
		const catalog = await firmware.catalog.read();
		const { latest, releases } = offeredReleases(catalog, settings.releaseKeys.length > 0);
		this.#release = releases.find(({ version }) => version === latest);
		this.#tones = new Map(services.announcementJobs?.sounds().map(({ id, name }) => [name, id]));
		const offers = JSON.stringify([this.#release, ...this.#tones]);
		if (offers !== this.#offers) this.#touchAll();
		this.#offers = offers;
		// The topics may be allowed meanwhile.
		if (!this.#hasRejected || !broker.isReady || monotonic() - this.#retriedAt < retryMs) return;
		this.#retriedAt = monotonic();
		this.#hasRejected = false;
		void this.publishAll();
	}

	/** Publishes everything, then the gateway's status, as the broker's state may be outdated. Resolves when done. */
	publishAll(): Promise<void> {
		const { core, prefix, gateway } = this.#options;
		this.#published.clear();
		// First, as devices refer to the gateway.
		this.#add(() => this.#retain(gatewayTopic(prefix, gateway.name), gatewayText(gateway)));
		for (const device of core.sessions.devices.values()) {
			const own = this.#ownOf(device);
			if (own) this.#add(() => this.#publish(device, own));
		}
		return this.#add(() => this.#retain(`${gateway.base}/status`, "online"));
	}

	/** Handles a message below this gateway's base topic, from another client or a previous connection. */
	onOwn(topic: string, deviceId: string, text: string, isRetained: boolean): void {
		const { core, gateway } = this.#options;
		const device = core.sessions.devices.get(deviceId);
		this.#published.delete(topic);
		if (topic === `${gateway.base}/status`) {
			// Status from an earlier connection or another client.
			if (!isRetained && text !== "online") this.#add(() => this.#retain(topic, "online"));
		} else if (text === "" || !isRetained) return;
		else if (!device || this.#left.has(device)) this.remove(deviceId, false);
		else if (topic.endsWith("/state")) this.#restore(device, text);
	}

	/** Handles a discovery message from another client or a previous connection. */
	onDiscovery(topic: string, text: string): void {
		const { core, prefix, gateway } = this.#options;
		const deviceId = deviceIdIn(prefix, topic);
		if (deviceId === undefined) return;
		this.#published.delete(topic);
		const device = core.sessions.devices.get(deviceId);
		if (text === "") return;
		if (isDiscoveredBy(text, gateway.base)) {
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
			const topics = isForgotten && !device ? [discoveryTopic(prefix, deviceId)] : [];
			topics.push(`${base}/${deviceId}/state`, `${base}/${deviceId}/availability`);
			for (const topic of topics) {
				await this.#retain(topic, "");
				this.#published.delete(topic);
			}
		});
	}

	factsOf(device: Device): Facts {
		const release = this.#release?.images.some((image) => fits(image, device)) ? this.#release : undefined;
		const { services } = this.#options.core;
		const canSpeak = services.announcementJobs?.canSpeak === true;
		return { device, release, tones: this.#tones, canSpeak, quietHours: services.quietHours };
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

	#touchAll(): void {
		for (const device of this.#options.core.sessions.devices.values()) this.#touch(device);
	}

	/** @returns undefined if another gateway publishes the device */
	#ownOf(device: Device): PublishedDevice | undefined {
		return this.#own.get(device) ?? (device.session.link.isRemote ? undefined : this.#adopt(device));
	}

	#touch(device: Device): void {
		const own = this.#ownOf(device);
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
		const own = { brightness: 0, session, publishedAt: Number.NEGATIVE_INFINITY, isPlanned: false };
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
		if (session.link.isRemote) {
			if (!session.connected) await this.#retain(availability, "offline");
			return;
		}
		const config = discoveryTopic(prefix, deviceId);
		const stateTopic = `${base}/${deviceId}/state`;
		if (own.session !== session)
			for (const topic of [config, stateTopic, availability]) this.#published.delete(topic);
		own.session = session;
		const facts = this.factsOf(device);
		const parsed = parseJson(state.text ?? "null");
		const report = matches(uplinks.state_report, parsed) ? parsed : undefined;
		const discovery = discoveryText(facts, gateway, report?.system.mac_address);
		// Home Assistant resets a siren's state on a new configuration (mqtt/siren.py, _setup_from_config).
		if (await this.#retain(config, discovery)) this.#published.delete(stateTopic);
		if (report) {
			const shown = stateOf(report, facts, own.brightness);
			own.brightness = shown.brightness;
			await this.#retain(stateTopic, JSON.stringify(shown));
		}
		// Last, and only after this connection's report was published, as the state may be outdated before.
		const isAvailable = session.connected && hasReported;
		await this.#retain(availability, isAvailable ? "online" : "offline");
	}

	async #add(work: () => Promise<unknown>): Promise<void> {
		await this.#queue
			.add(work)
			.catch((error) => this.#options.core.log.error({ err: error }, "Home Assistant"));
	}

	/**
	 * Publishes a retained message that the broker does not have. Resolves once it has it, waiting for a connection.
	 * @returns whether it was published
	 */
	async #retain(topic: string, text: string): Promise<boolean> {
		const digest = createHash("sha1").update(text).digest("base64");
		if (this.#published.get(topic) === digest) return false;
		this.#published.set(topic, digest);
		if (!(await this.#options.broker.retain(topic, text))) this.#hasRejected = true;
		return true;
	}
}
