/**
 * Sends a rollout's offers to the gateway of each device. An offer is marked in a bucket before it is sent,
 * so that neither a suspended driver nor a second one can send it again.
 */

import { boolean, integer, list, matches, object, string } from "../../../device/protocol/schema.js";
import { parseJson } from "../../api/json.js";
import type { Rollout } from "../../api/rollout.js";
import { type Bucket, type BucketOptions, type Bus, BusError, subjectOf } from "../../bus.js";
import type { UpdateRejection } from "../../firmware/rejections.js";
import type { Updates } from "../../firmware/updates.js";
import type { Device } from "../../sessions/device.js";
import { type Offers, triggerOf } from "../attempts.js";
import type { RolloutStore } from "../store.js";

export interface RolloutOffersOptions {
	readonly bus: Bus;
	/** Id of this gateway, new at each start. */
	readonly id: string;
	/** Devices by id. */
	readonly devices: ReadonlyMap<string, Device>;
	/** Returns the id of the device's gateway; undefined for this one. */
	readonly ownerOf: (device: Device) => string | undefined;
	readonly updates: Pick<Updates, "trigger">;
	readonly store: Pick<RolloutStore, "offerOf">;
	readonly isDriver: () => boolean;
}

const offer = object({
	rollout: string(64),
	deviceId: string(64),
	/** Revision of the step `offered`. */
	step: integer(1, Number.MAX_SAFE_INTEGER),
	/** Version as in `trigger_ota`. */
	version: string(64),
	/** SHA-256 of the allowed images. */
	pinned: list(string(64), 20),
});

/** Latest offer to a device in a rollout. `after` is the revision of its step. */
const mark = object({ after: integer(1, Number.MAX_SAFE_INTEGER), isSent: boolean() });
/** Longer than any offer can be in transit. */
const marksBucket: BucketOptions = Object.freeze({ ttlMs: 7 * 24 * 60 * 60 * 1000 });

const answerMs = 10_000;
const retryMs = 500;

const isElsewhere: UpdateRejection = Object.freeze({
	code: "target_offline",
	message: "The device's gateway is unreachable or no longer has the device. The offer was not sent.",
});
const isRecalled: UpdateRejection = Object.freeze({
	code: "ota_in_progress",
	message: "Another gateway has taken over the rollout.",
});

export class RolloutOffers implements Offers {
	readonly #options: RolloutOffersOptions;
	#marks: Bucket | undefined;

	constructor(options: RolloutOffersOptions) {
		this.#options = options;
	}

	/**
	 * Accepts offers for devices of this gateway.
	 * @returns function that stops it
	 */
	serve(): () => void {
		const { bus, id } = this.#options;
		return bus.serve(subjectOf("gw", "offer", id), async (text) => {
			const value: unknown = JSON.parse(text);
			const rejection = await this.#pass(value);
			return JSON.stringify({ rejection });
		});
	}

	async send(rollout: Rollout, device: Device): Promise<UpdateRejection | undefined> {
		const { bus, store, ownerOf } = this.#options;
		const { deviceId } = device;
		const [version, pinned] = triggerOf(rollout);
		const step = store.offerOf(rollout.id, deviceId);
		const owner = ownerOf(device);
		const message = { rollout: rollout.id, deviceId, step, version, pinned };
		try {
			if (owner === undefined) return await this.#pass(message);
			const text = await bus.request(subjectOf("gw", "offer", owner), JSON.stringify(message), answerMs);
			const { rejection }: { readonly rejection?: UpdateRejection } = JSON.parse(text);
			return rejection;
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			return this.recall(rollout, deviceId);
		}
	}

	async recall({ id }: Rollout, deviceId: string): Promise<UpdateRejection | undefined> {
		const { store, isDriver } = this.#options;
		const step = store.offerOf(id, deviceId);
		// The next driver repeats it.
		while (isDriver() && step > 0) {
			try {
				const isSent = await this.mark(id, deviceId, step, false);
				return isSent ? undefined : isElsewhere;
			} catch (error) {
				if (!(error instanceof BusError)) throw error;
				await new Promise((resolve) => setTimeout(resolve, retryMs));
			}
		}
		return undefined;
	}

	/**
	 * Marks an offer as sent, before it is sent, or as recalled, whichever comes first.
	 * @param after revision of the step `offered`
	 * @returns undefined if this call marked it; otherwise whether it was sent
	 * @throws {BusError}
	 */
	async mark(id: string, deviceId: string, after: number, isSent: boolean): Promise<boolean | undefined> {
		this.#marks ??= await this.#options.bus.bucket("gw-offers", marksBucket);
		const key = `${id}/${deviceId}`;
		for (;;) {
			const entry = await this.#marks.get(key);
			const known = entry && parseJson(entry.text);
			if (matches(mark, known) && known.after >= after) return known.isSent;
			const text = JSON.stringify({ after, isSent });
			if ((await this.#marks.set(key, text, entry?.revision ?? 0)) !== undefined) return undefined;
		}
	}

	/**
	 * Sends an offer to a device of this gateway.
	 * @throws {BusError} if it is unknown whether it may be sent
	 */
	async #pass(message: unknown): Promise<UpdateRejection | undefined> {
		const { devices, ownerOf, updates } = this.#options;
		if (!matches(offer, message)) throw new Error("not an offer");
		const { rollout, deviceId, step, version, pinned } = message;
		const device = devices.get(deviceId);
		if (!device?.session.isReachable || ownerOf(device) !== undefined) return isElsewhere;
		if ((await this.mark(rollout, deviceId, step, true)) !== undefined) return isRecalled;
		return updates.trigger(device, version, pinned);
	}
}
