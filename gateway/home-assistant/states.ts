/**
 * Publishes this gateway's devices: what differs from what the broker has, at most once a second for each device, and all again
 * after each connection.
 */

import { createHash } from "node:crypto";
import { type Chime, chimes, type StateReport, uplinks } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { trimmed } from "../access/origin.js";
import type { Core } from "../extension.js";
import type { Release } from "../firmware/catalog.js";
import { fits } from "../firmware/image.js";
import { parseJson } from "../json.js";
import type { Device } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import type { Settings } from "../settings.js";
import type { Connection } from "./broker.js";
import { discoveryText, discoveryTopic, topicOf } from "./discovery.js";
import { buttons, entities, type Facts } from "./entities.js";

interface Known {
	/** What the broker has, by topic; of the discovery message a digest. */
	readonly published: Map<string, string>;
	/** Not published yet, by entity. */
	readonly events: Map<string, { readonly event_type: string; readonly count: number }>;
	pressed: readonly string[];
	litBrightness: number;
	publishedAt: number;
	isPlanned: boolean;
}

interface Message {
	readonly topic: string;
	readonly payload: string;
	readonly isRetained: boolean;
}

const pauseMs = 1_000;

export class States {
	readonly #core: Core;
	readonly #prefix: string;
	readonly #statusTopic: () => string;
	readonly #countMessage: () => void;
	/** This gateway's devices, by id. */
	readonly #known = new Map<string, Known>();
	/** Forgotten devices that the broker may still have. */
	readonly #removed = new Set<string>();
	/** Ids of devices that are to be published now. */
	readonly #ready = new Set<string>();
	#connection: Connection | undefined;
	/** The connection to which `#ready` is being published. */
	#publishing: Connection | undefined;
	#release: Release | undefined;
	#tones: ReadonlyMap<string, string> = new Map();
	#offers = "";

	/** @param statusTopic of this gateway's own availability */
	constructor(core: Core, { prefix }: NonNullable<Settings["mqtt"]>, statusTopic: () => string) {
		this.#core = core;
		this.#prefix = prefix;
		this.#statusTopic = statusTopic;
		const published = core.metrics.counter("gateway_mqtt_publishes_total", "Messages to the MQTT broker");
		this.#countMessage = () => published.inc();
	}

	readonly sessions: SessionListener = {
		onChanged: ({ device }, reason) => {
			const kind = device?.crashes.at(-1)?.kind;
			if (device && reason === "crash" && kind) this.#fire(device, "crash", kind);
			if (device) this.#touch(device);
		},
		onUplink: ({ device }, uplink) => {
			if (!device) return;
			if (uplink.type === "state_report") this.#press(device, uplink);
			this.#touch(device);
		},
		onForgotten: ({ deviceId }, why) => {
			this.#known.delete(deviceId);
			// Another gateway that forgets it removes it.
			if (why !== "removed") this.remove(deviceId);
		},
	};

	/** What can be installed and played: to be called now and then, as neither tells of changes. */
	async refresh(): Promise<void> {
		const { latest, releases } = await this.#core.firmware.catalog.read();
		this.#release = releases.find(({ version }) => version === latest);
		this.#tones = tonesOf(this.#core.announcer()?.sounds() ?? []);
		const offers = JSON.stringify([this.#release, ...this.#tones]);
		if (offers === this.#offers) return;
		this.#offers = offers;
		this.#touchAll();
	}

	/** Publishes all, and only then that this gateway is there: what the broker had of it may be outdated. */
	async begin(connection: Connection): Promise<void> {
		this.#connection = connection;
		this.publishAll();
		await this.#publishReady();
		await connection.publish(this.#statusTopic(), "online", true);
	}

	end(): void {
		this.#connection = undefined;
	}

	/** Also what the broker should have. */
	publishAll(): void {
		for (const known of this.#known.values()) {
			known.published.clear();
			known.publishedAt = Number.NEGATIVE_INFINITY;
			known.isPlanned = false;
		}
		for (const id of this.#removed) this.#ready.add(id);
		this.#touchAll();
	}

	/** Removes a device that the gateways have forgotten from Home Assistant. */
	remove(deviceId: string): void {
		this.#removed.add(deviceId);
		this.#plan(deviceId);
	}

	/** @param payload of its availability at the broker @param isRetained from before this gateway's connection */
	correct(deviceId: string, payload: string, isRetained: boolean): void {
		const device = this.#core.sessions.devices.get(deviceId);
		const topic = topicOf(deviceId, "availability");
		const known = this.#known.get(deviceId);
		if (!device && isRetained && payload !== "") this.remove(deviceId);
		// A gateway that has lost this device may say so after this one has it.
		if (device && known && !isRetained && payload !== known.published.get(topic)) {
			known.published.clear();
			this.#touch(device);
		}
		// Of a gateway that has ended while it had this device.
		if (device && !known && isRetained && payload === "online" && !device.session.connected)
			this.#connection?.publish(topic, "offline", true);
	}

	factsOf(device: Device): Facts {
		const value = parseJson(device.state.text ?? "null");
		const report = matches(uplinks.state_report, value) ? value : undefined;
		const { securityVersion = 0 } = device;
		const isFor = (image: Release["images"][number]) =>
			fits(image, device) && (image.security_version ?? 0) >= securityVersion;
		return {
			device,
			report,
			release: this.#release?.images.some(isFor) ? this.#release : undefined,
			tones: device.session.handshake.features.includes("sound") ? this.#tones : new Map(),
			canSpeak: this.#core.announcer()?.canSpeak === true,
			litBrightness: this.#known.get(device.deviceId)?.litBrightness ?? 1,
		};
	}

	/** Of several gateways that act as one, only the one to which a device is connected, or was last, publishes it. */
	#isOwn({ deviceId, session }: Device): boolean {
		if (session.link.isRemote) return false;
		return !this.#core.peers || session.connected || this.#known.has(deviceId);
	}

	#touchAll(): void {
		for (const device of this.#core.sessions.devices.values()) this.#touch(device);
	}

	#touch(device: Device): void {
		const known = this.#known.get(device.deviceId) ?? (this.#isOwn(device) ? this.#add(device) : undefined);
		if (!known || known.isPlanned || !this.#connection?.isOpen) return;
		known.isPlanned = true;
		const waitMs = known.publishedAt + pauseMs - this.#core.monotonic();
		if (waitMs > 0) setTimeout(() => this.#plan(device.deviceId), waitMs).unref();
		else this.#plan(device.deviceId);
	}

	#add({ deviceId }: Device): Known {
		const known: Known = {
			published: new Map(),
			events: new Map(),
			pressed: [],
			litBrightness: 1,
			publishedAt: Number.NEGATIVE_INFINITY,
			isPlanned: false,
		};
		this.#known.set(deviceId, known);
		return known;
	}

	#press(device: Device, { peripherals }: StateReport): void {
		const known = this.#known.get(device.deviceId);
		if (!known) return;
		const pressed = buttons.filter((name) => peripherals.buttons[name]);
		for (const name of pressed) if (!known.pressed.includes(name)) this.#fire(device, name, "press");
		known.pressed = pressed;
		known.litBrightness = peripherals.led_ring.brightness_coef || known.litBrightness;
	}

	/** While the broker is away it is lost: later it would be taken for a new one. */
	#fire({ deviceId }: Device, entity: string, type: string): void {
		const events = this.#known.get(deviceId)?.events;
		if (this.#connection?.isOpen)
			events?.set(entity, { event_type: type, count: (events.get(entity)?.count ?? 0) + 1 });
	}

	#plan(deviceId: string): void {
		this.#ready.add(deviceId);
		void this.#publishReady();
	}

	/** One device after the other: what waits is as new as can be when its turn comes. */
	async #publishReady(): Promise<void> {
		const connection = this.#connection;
		if (!connection?.isOpen || this.#publishing === connection) return;
		this.#publishing = connection;
		try {
			for (const deviceId of this.#ready) {
				this.#ready.delete(deviceId);
				for (const { topic, payload, isRetained } of this.#take(deviceId)) {
					this.#countMessage();
					await connection.publish(topic, payload, isRetained);
				}
				if (this.#connection !== connection) return;
				if (!this.#core.sessions.devices.has(deviceId)) this.#removed.delete(deviceId);
			}
		} finally {
			if (this.#publishing === connection) this.#publishing = undefined;
		}
	}

	/** @returns what the broker is to be sent of a device */
	#take(deviceId: string): Message[] {
		const device = this.#core.sessions.devices.get(deviceId);
		const known = this.#known.get(deviceId);
		if (!device) return this.#removed.has(deviceId) ? this.#removalOf(deviceId) : [];
		this.#removed.delete(deviceId);
		if (!known) return [];
		known.isPlanned = false;
		if (!this.#isOwn(device)) {
			this.#known.delete(deviceId);
			return [];
		}
		const messages = this.#changesOf(device, known);
		for (const [entity, event] of known.events)
			messages.push({ topic: topicOf(deviceId, entity), payload: JSON.stringify(event), isRetained: false });
		known.events.clear();
		if (messages.length > 0) known.publishedAt = this.#core.monotonic();
		return messages;
	}

	#changesOf(device: Device, { published }: Known): Message[] {
		const { deviceId, session } = device;
		const { publicUrl } = this.#core.settings;
		const facts = this.factsOf(device);
		const messages: Message[] = [];
		const add = (topic: string, payload: string, mark = payload) => {
			if (published.get(topic) === mark) return;
			published.set(topic, mark);
			messages.push({ topic, payload, isRetained: true });
		};
		const config = discoveryText(facts, this.#statusTopic(), publicUrl && trimmed(publicUrl));
		add(discoveryTopic(this.#prefix, deviceId), config, createHash("sha1").update(config).digest("base64"));
		const { report } = facts;
		for (const [key, { state, isOffered }] of Object.entries(entities))
			if (report && state && isOffered?.(facts) !== false) add(topicOf(deviceId, key), state(report, facts));
		// The last, and only with a report of this connection: until then, what is shown may be outdated.
		const isAvailable = session.connected && device.hasReported;
		add(topicOf(deviceId, "availability"), isAvailable ? "online" : "offline");
		return messages;
	}

	/** An empty retained message removes one from the broker. */
	#removalOf(deviceId: string): Message[] {
		const stateful = Object.keys(entities).filter((key) => entities[key]?.state);
		const topics = [...stateful, "availability"].map((what) => topicOf(deviceId, what));
		return [discoveryTopic(this.#prefix, deviceId), ...topics].map((topic) => ({
			topic,
			payload: "",
			isRetained: true,
		}));
	}
}

/** Names may be there twice, in Home Assistant not. */
function tonesOf(sounds: readonly { readonly id: string; readonly name: string }[]): Map<string, string> {
	const tones = new Map<string, string>();
	const isTaken = (name: string) => tones.has(name) || chimes.some((chime: Chime) => chime === name);
	for (const { id, name } of sounds) tones.set(isTaken(name) ? `${name} (${id.slice(0, 6)})` : name, id);
	return tones;
}
