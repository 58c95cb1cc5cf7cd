/**
 * Sends a roll-out's offers to the gateway that has the device. Each is marked in the log before the device gets it, so
 * that neither a driver that was stopped nor a second one can send it again.
 */

import { integer, list, matches, object, string } from "../../../device/protocol/schema.js";
import type { Rollout } from "../../api/rollout.js";
import { type Bus, BusError, subjectOf } from "../../bus.js";
import type { UpdateRefusal } from "../../firmware/selection.js";
import type { Updates } from "../../firmware/updates.js";
import type { Device } from "../../sessions/device.js";
import { type Offers, triggerOf } from "../attempts.js";
import type { RolloutStore } from "../store.js";

export interface RolloutOffersOptions {
	readonly bus: Bus;
	/** Of this gateway, another one at each start. */
	readonly id: string;
	/** By id. */
	readonly devices: ReadonlyMap<string, Device>;
	/** The id of the gateway that has the device; undefined: this one. */
	readonly ownerOf: (device: Device) => string | undefined;
	readonly updates: Pick<Updates, "trigger">;
	readonly steps: Pick<RolloutStore, "mark" | "offerOf">;
	readonly isDriver: () => boolean;
}

const offer = object({
	rollout: string(64),
	deviceId: string(64),
	/** Of the step `offered`. */
	step: integer(1, Number.MAX_SAFE_INTEGER),
	/** As for `trigger_ota`. */
	version: string(64),
	/** SHA-256 of the images that it may be. */
	pinned: list(string(64), 20),
});

const answerMs = 10_000;
const retryMs = 500;

const isElsewhere: UpdateRefusal = Object.freeze({
	code: "target_offline",
	message: "The device's gateway could not be reached, or has it no more; it was not sent.",
});
const isRecalled: UpdateRefusal = Object.freeze({
	code: "ota_in_progress",
	message: "Another gateway drives the roll-out by now.",
});

export class RolloutOffers implements Offers {
	readonly #options: RolloutOffersOptions;

	constructor(options: RolloutOffersOptions) {
		this.#options = options;
	}

	/** Takes offers for devices of this gateway. @returns a function that ends it */
	serve(): () => void {
		const { bus, id } = this.#options;
		return bus.serve(subjectOf("gw", "offer", id), async (text) => {
			const value: unknown = JSON.parse(text);
			const refusal = await this.#pass(value);
			return JSON.stringify({ refusal });
		});
	}

	async send(rollout: Rollout, device: Device): Promise<UpdateRefusal | undefined> {
		const { bus, steps, ownerOf } = this.#options;
		const { deviceId } = device;
		const [version, pinned] = triggerOf(rollout);
		const step = steps.offerOf(rollout.id, deviceId);
		const owner = ownerOf(device);
		const message = { rollout: rollout.id, deviceId, step, version, pinned };
		try {
			if (owner === undefined) return await this.#pass(message);
			const text = await bus.request(subjectOf("gw", "offer", owner), JSON.stringify(message), answerMs);
			const { refusal }: { readonly refusal?: UpdateRefusal } = JSON.parse(text);
			return refusal;
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			return this.recall(rollout, deviceId);
		}
	}

	async recall({ id }: Rollout, deviceId: string): Promise<UpdateRefusal | undefined> {
		const { steps, isDriver } = this.#options;
		const step = steps.offerOf(id, deviceId);
		// The next driver does it again.
		while (isDriver() && step > 0) {
			try {
				const isSent = await steps.mark(id, deviceId, step, false);
				return isSent ? undefined : isElsewhere;
			} catch (error) {
				if (!(error instanceof BusError)) throw error;
				await new Promise((resolve) => setTimeout(resolve, retryMs));
			}
		}
		return undefined;
	}

	/** To a device of this gateway. @throws {BusError} if it is not known whether it may be sent */
	async #pass(message: unknown): Promise<UpdateRefusal | undefined> {
		const { steps, devices, ownerOf, updates } = this.#options;
		if (!matches(offer, message)) throw new Error("not an offer");
		const { rollout, deviceId, step, version, pinned } = message;
		const device = devices.get(deviceId);
		if (!device?.session.isReachable || ownerOf(device) !== undefined) return isElsewhere;
		if ((await steps.mark(rollout, deviceId, step, true)) !== undefined) return isRecalled;
		return updates.trigger(device, version, pinned);
	}
}
