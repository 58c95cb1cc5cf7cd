/**
 * Presses of buttons and crashes, as events of Home Assistant: of each device 10 at once, then one a second. The broker keeps
 * none.
 */

import type { CrashKind } from "../../device/protocol/messages.js";
import type { Core } from "../extension.js";
import { TokenBucket } from "../rates.js";
import type { Device } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import type { Broker } from "./broker.js";
import { buttons } from "./entities.js";

const rate = { perSecond: 1, burst: 10 };

export interface EventsOptions {
	readonly core: Pick<Core, "monotonic">;
	readonly broker: Pick<Broker, "send">;
	/** Of this gateway's topics. */
	readonly base: string;
}

interface State {
	readonly bucket: TokenBucket;
	/** In its latest report. */
	pressed: readonly string[];
}

export class Events {
	readonly #options: EventsOptions;
	readonly #states = new WeakMap<Device, State>();

	constructor(options: EventsOptions) {
		this.#options = options;
	}

	readonly sessions: SessionListener = {
		onUplink: ({ device }, uplink) => {
			if (!device || uplink.type !== "state_report") return;
			const state = this.#stateOf(device);
			const pressed = buttons.filter((name) => uplink.peripherals.buttons[name]);
			for (const name of pressed) if (!state.pressed.includes(name)) this.#send(device, name, "press_start");
			state.pressed = pressed;
		},
	};

	onCrash(device: Device, kind: CrashKind): void {
		this.#send(device, "crash", kind);
	}

	#stateOf(device: Device): State {
		const { monotonic } = this.#options.core;
		const state = this.#states.get(device) ?? {
			bucket: new TokenBucket({ ...rate, monotonic }),
			pressed: [],
		};
		this.#states.set(device, state);
		return state;
	}

	/** Without the broker it is lost: later it would be taken for a new one. */
	#send(device: Device, entity: string, event_type: string): void {
		const { broker, base } = this.#options;
		if (this.#stateOf(device).bucket.take())
			broker.send(`${base}/${device.deviceId}/${entity}`, JSON.stringify({ event_type }));
	}
}
