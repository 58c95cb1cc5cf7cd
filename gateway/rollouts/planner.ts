/** Completes plans: sets defaults, pins the firmware, and resolves the target to devices. */

import { isDeepStrictEqual } from "node:util";
import type { Plan, Target } from "../api/rollout.js";
import type { Base } from "../base.js";
import type { Selection } from "../firmware/selection.js";
import { devicesWithTags } from "../jobs/targets.js";
import { RequestError } from "../problem.js";
import type { Device } from "../sessions/device.js";
import { parsePlan, parseStoredPlan } from "./plan.js";

export interface PlannerOptions extends Pick<Base, "now" | "yieldToLoop"> {
	/** Devices by id. */
	readonly devices: ReadonlyMap<string, Device>;
	readonly selection: Pick<Selection, "pin">;
	/** Default for windows without a time zone. Default: UTC. */
	readonly timeZone?: string;
}

export class Planner {
	readonly #options: PlannerOptions;

	constructor(options: PlannerOptions) {
		this.#options = options;
	}

	/**
	 * Completes a requested plan.
	 * @throws {RequestError} 422
	 */
	async complete(asked: unknown): Promise<Plan> {
		const { selection, devices, now, timeZone, yieldToLoop } = this.#options;
		const plan = parsePlan(asked, (target) => this.targetsOf(target).length, now(), timeZone);
		const pinned = await selection.pin(plan.firmware);
		const { channel } = plan.firmware;
		const field = channel === undefined ? "firmware.version" : "firmware.channel";
		if ("rejection" in pinned) throw new RequestError(422, `${field}: ${pinned.rejection.message}`);
		const { version = pinned.version, source = pinned.source, images = pinned.images } = plan.firmware;
		if (channel !== undefined && version !== pinned.version)
			throw new RequestError(
				422,
				`firmware.version must be ${pinned.version}, the latest release of channel ${channel}. Omit it to use that.`,
			);
		if (source !== pinned.source || !isDeepStrictEqual(images, pinned.images))
			throw new RequestError(422, "firmware.images must match this gateway's images. Omit them.");
		const { target } = plan;
		const unknown = "devices" in target && target.devices.find((id) => !devices.has(id));
		if (unknown) throw new RequestError(422, `target.devices contains unknown device ${unknown}.`);
		// A plan for 10,000 devices takes more than one turn.
		await yieldToLoop();
		// Ensures that an accepted plan loads at the next start.
		return parseStoredPlan({ ...plan, firmware: pinned });
	}

	/** @returns ids of the devices selected now */
	targetsOf(target: Target): readonly string[] {
		if ("devices" in target) return target.devices;
		const all = [...this.#options.devices.values()];
		if ("all" in target) return all.map(({ deviceId }) => deviceId);
		const { model, tags } = target;
		return (tags === undefined ? all : devicesWithTags(all, tags))
			.filter((device) => model === undefined || device.model === model)
			.map(({ deviceId }) => deviceId);
	}
}
