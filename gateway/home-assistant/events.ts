/**
 * Button presses and crashes (per device 10 at once, then one a second) and announcement results (at most 4 a
 * second each) as Home Assistant events, not retained.
 */

import { TokenBucket } from "../access/rates.js";
import type { FrameOf } from "../api/frames.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import type { Broker } from "./broker.js";
import { buttons } from "./entities.js";

const rate = { perSecond: 1, burst: 10 };

export interface EventEntitiesOptions {
	readonly core: Pick<Core, "monotonic" | "sessions">;
	readonly broker: Pick<Broker, "send">;
	/** Base topic of this gateway. */
	readonly base: string;
}

interface State {
	readonly bucket: TokenBucket;
	/** Buttons pressed in the latest report. */
	pressed: readonly string[];
	/** Latest state of an announcement. */
	announcement: string;
}

export class EventEntities {
	readonly #options: EventEntitiesOptions;
	readonly #states = new WeakMap<Device, State>();

	constructor(options: EventEntitiesOptions) {
		this.#options = options;
	}

	readonly listeners: Listeners = {
		uplink: ({ device }, uplink) => {
			if (!device || uplink.type !== "state_report") return;
			const state = this.#stateOf(device);
			const pressed = buttons.filter((name) => uplink.peripherals.buttons[name]);
			for (const name of pressed)
				if (!state.pressed.includes(name)) this.#sendSeldom(device, name, "press_start");
			state.pressed = pressed;
		},
		crash: (device, { kind }) => this.#sendSeldom(device, "crash", kind),
		announcement: (frame) => this.#onAnnouncement(frame),
	};

	/** @param text of an `announcement_update` */
	#onAnnouncement(text: string): void {
		const { id, name, devices }: FrameOf<"announcement_update"> = JSON.parse(text);
		for (const { deviceId, state: event_type, reason } of devices) {
			const device = this.#options.core.sessions.devices.get(deviceId);
			if (!device || device.session.link.isRemote) continue;
			const state = this.#stateOf(device);
			const latest = `${id} ${event_type}`;
			if (state.announcement !== latest)
				this.#publish(device, "announcement", { event_type, id, name, reason });
			state.announcement = latest;
		}
	}

	#stateOf(device: Device): State {
		const { monotonic } = this.#options.core;
		const state = this.#states.get(device) ?? {
			bucket: new TokenBucket({ ...rate, monotonic }),
			pressed: [],
			announcement: "",
		};
		this.#states.set(device, state);
		return state;
	}

	#sendSeldom(device: Device, entity: string, event_type: string): void {
		if (this.#stateOf(device).bucket.take()) this.#publish(device, entity, { event_type });
	}

	/** Not queued without a connection, as it would look like a new event later. */
	#publish({ deviceId }: Device, entity: string, event: object): void {
		const { broker, base } = this.#options;
		broker.send(`${base}/${deviceId}/${entity}`, JSON.stringify(event));
	}
}
