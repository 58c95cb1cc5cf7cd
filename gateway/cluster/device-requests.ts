/** What gateways ask of the one to which a device is connected: to execute a monitor's message. */

import { type Bus, BusError, subjectOf } from "../bus.js";
import type { Sessions } from "../sessions/sessions.js";
import { type MonitorMessage, type Outcome, refuse } from "../sockets/monitor-commands.js";
import type { Unsubscribe } from "../storage/log.js";
import type { Member } from "./members.js";

export interface DeviceRequestsOptions {
	readonly bus: Bus;
	readonly sessions: Sessions;
	/** Executes a monitor's message for a device of this gateway. */
	readonly execute: (message: MonitorMessage) => Promise<Outcome>;
}

/** Longer than it takes to choose an image and to write the update to disk. */
const commandMs = 8_000;

export class DeviceRequests {
	readonly #options: DeviceRequestsOptions;

	constructor(options: DeviceRequestsOptions) {
		this.#options = options;
	}

	/** Answers those of others. @param gateway this one's id */
	serve(gateway: string): Unsubscribe {
		const { bus, execute } = this.#options;
		return bus.serve(subjectOf("gw", "cmd", gateway), async (text) =>
			JSON.stringify(await execute(JSON.parse(text))),
		);
	}

	/** Has the gateway of a device execute a monitor's message. */
	async execute({ id, name }: Pick<Member, "id" | "name">, message: MonitorMessage): Promise<Outcome> {
		try {
			const subject = subjectOf("gw", "cmd", id);
			const outcome: Outcome = JSON.parse(
				await this.#options.bus.request(subject, JSON.stringify(message), commandMs),
			);
			return outcome;
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			const what = error.problem === "timeout" ? "has not answered" : "cannot be reached";
			return refuse(
				"target_offline",
				`${name}, the gateway of this device, ${what}; wait for its next status_update`,
			);
		}
	}
}
