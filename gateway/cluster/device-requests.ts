/** What gateways ask of the one to which a device is connected: to execute a monitor's message, and the device's history. */

import type { Device } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import { type MonitorMessage, type Outcome, refuse } from "../sockets/monitor-commands.js";
import { type Bus, BusError, subjectOf, type Unsubscribe } from "./bus.js";

export interface DeviceRequestsOptions {
	readonly bus: Bus;
	readonly sessions: Sessions;
	/** Executes a monitor's message for a device of this gateway. */
	readonly execute: (message: unknown) => Promise<Outcome>;
	/** A device's history as JSON. */
	readonly history: (device: Device) => string;
}

/** Longer than it takes to choose an image and to write the update to disk. */
const commandMs = 8_000;
const historyMs = 2_000;

export class DeviceRequests {
	readonly #options: DeviceRequestsOptions;

	constructor(options: DeviceRequestsOptions) {
		this.#options = options;
	}

	/** Answers those of others. @param gateway this one's id */
	serve(gateway: string): readonly Unsubscribe[] {
		const { bus, sessions, execute, history } = this.#options;
		return [
			bus.serve(subjectOf("gw", "cmd", gateway), async (text) =>
				JSON.stringify(await execute(JSON.parse(text))),
			),
			bus.serve(subjectOf("gw", "history", gateway), async (deviceId) => {
				const device = sessions.devices.get(deviceId);
				return device ? history(device) : "";
			}),
		];
	}

	/** Has the gateway of a device execute a monitor's message. */
	async execute(gateway: string, message: MonitorMessage): Promise<Outcome> {
		try {
			const subject = subjectOf("gw", "cmd", gateway);
			const outcome: Outcome = JSON.parse(
				await this.#options.bus.request(subject, JSON.stringify(message), commandMs),
			);
			return outcome;
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			const what = error.problem === "timeout" ? "has not answered" : "cannot be reached";
			return refuse("target_offline", `the gateway of this device ${what}; wait for its next status_update`);
		}
	}

	/** @returns the history as the device's gateway has it, as JSON; undefined if that cannot be reached */
	async history({ deviceId, session }: Device): Promise<string | undefined> {
		const { gateway } = session.link;
		if (gateway === undefined) return undefined;
		const asked = this.#options.bus.request(subjectOf("gw", "history", gateway), deviceId, historyMs);
		return (await asked.catch(() => "")) || undefined;
	}
}
