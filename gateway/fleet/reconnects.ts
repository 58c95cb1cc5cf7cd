/** Counts Wi-Fi reconnects of each device in the last 24 hours. In memory, for devices of this gateway. */

import type { StateReport } from "../../device/protocol/messages.js";
import { integer, isRecord, matches } from "../../device/protocol/schema.js";
import { parseJson } from "../api/json.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import type { PeerQuery } from "../peers.js";
import type { Device } from "../sessions/device.js";

const hourMs = 60 * 60 * 1000;
const hours = 24;
const count = integer(0, Number.MAX_SAFE_INTEGER);

interface Known {
	/** Counter in the latest report. */
	total: number;
	uptimeSeconds: number;
	/** Hours with reconnects, latest last. */
	byHour: readonly { readonly hour: number; readonly count: number }[];
}
const none: Known["byHour"] = Object.freeze([]);

export class Reconnects {
	readonly #core: Pick<Core, "sessions" | "peers" | "monotonic">;
	readonly #known = new Map<Device, Known>();
	readonly #question: PeerQuery;

	constructor(core: Pick<Core, "sessions" | "peers" | "monotonic">) {
		this.#core = core;
		this.#question = core.peers.defineQuery("reconnects", () =>
			JSON.stringify(Object.fromEntries(this.#ofThis())),
		);
	}

	readonly listeners: Listeners = {
		uplink: ({ device }, uplink) => {
			if (device && uplink.type === "state_report") this.#add(device, uplink);
		},
		deviceForgotten: (device) => void this.#known.delete(device),
	};

	/** Returns reconnects by device id from all gateways, except devices without any and gateways that do not respond. */
	async all(): Promise<ReadonlyMap<string, number>> {
		const counts = new Map<string, number>();
		for (const text of await this.#question.sendToAll("")) {
			const answer = parseJson(text);
			if (!isRecord(answer)) continue;
			for (const [deviceId, value] of Object.entries(answer))
				if (matches(count, value)) counts.set(deviceId, value);
		}
		return counts;
	}

	*#ofThis(): Generator<readonly [string, number]> {
		const { peers, monotonic } = this.#core;
		const first = hourOf(monotonic()) - hours;
		for (const [{ deviceId }, { byHour }] of this.#known) {
			const device = this.#core.sessions.devices.get(deviceId);
			if (!device || peers.ownerOf(device) !== undefined) continue;
			let sum = 0;
			for (const { hour, count } of byHour) if (hour > first) sum += count;
			if (sum > 0) yield [deviceId, sum];
		}
	}

	#add(device: Device, { health, network }: StateReport): void {
		const { reconnects: total = 0 } = network;
		const uptimeSeconds = health.uptime_seconds;
		const known = this.#known.get(device);
		if (!known) {
			// The times of earlier reconnects are unknown.
			this.#known.set(device, { total, uptimeSeconds, byHour: none });
			return;
		}
		const hasRestarted = uptimeSeconds < known.uptimeSeconds || total < known.total;
		const added = hasRestarted ? total : total - known.total;
		known.total = total;
		known.uptimeSeconds = uptimeSeconds;
		if (added === 0) return;
		const hour = hourOf(this.#core.monotonic());
		const kept = known.byHour.filter((entry) => entry.hour > hour - hours);
		const last = kept.at(-1);
		known.byHour =
			last?.hour === hour
				? [...kept.slice(0, -1), { hour, count: last.count + added }]
				: [...kept, { hour, count: added }];
	}
}

function hourOf(monotonic: number): number {
	return Math.floor(monotonic / hourMs);
}
