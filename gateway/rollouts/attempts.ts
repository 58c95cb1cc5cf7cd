/** The attempts of rollouts to update devices: starts them, and reports what is known of each device. */

import type { Logger } from "pino";
import type { Rollout } from "../api/rollout.js";
import type { UpdateRejection } from "../firmware/rejections.js";
import { silenceMs } from "../firmware/update-job.js";
import type { Updates } from "../firmware/updates.js";
import type { LatestCrash } from "../services/devices.js";
import type { Device } from "../sessions/device.js";
import type { Offer, Seen } from "./device-step.js";

/** Sends offers to devices of any gateway. */
export interface Offers {
	/** @returns why it was not sent; undefined if it was, or if that is not known */
	send(rollout: Rollout, device: Device): Promise<UpdateRejection | undefined>;
	/** Prevents an unsent offer of another driver from being sent. @returns as `send` */
	recall(rollout: Rollout, deviceId: string): Promise<UpdateRejection | undefined>;
}

export interface AttemptsOptions {
	readonly updates: Pick<Updates, "trigger" | "historyOf">;
	/** Default: to devices of this gateway, by `updates`. */
	readonly offers?: Offers;
	/** Default: crashes are not known. */
	readonly latestCrashOf?: (deviceId: string) => LatestCrash | undefined;
	/** By id. */
	readonly devices: ReadonlyMap<string, Device>;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	/** From 0 to less than 1; default: Math.random. */
	readonly random?: () => number;
	readonly log: Pick<Logger, "info" | "error">;
}

/** A returning device begins after at most this, at random: a fleet must not begin at once. */
const returnMs = 10_000;
/** Before the next attempt; drawn from the upper half. */
const retryMs = 60_000;

export class Attempts {
	readonly #options: AttemptsOptions;
	/**
	 * Devices whose latest attempt was begun here; times do not decide about them, as the clock may have gone back.
	 */
	readonly #begun = new Set<string>();
	/** The latest, by device. */
	readonly #offers = new Map<string, Offer>();
	/** By device: monotonic time at which it may begin; infinity while it is away. */
	readonly #readyAt = new Map<string, number>();
	/** Until this monotonic time, a device that is away may be about to connect. */
	readonly #returningUntil: number;

	constructor(options: AttemptsOptions) {
		this.#options = options;
		this.#returningUntil = options.monotonic() + silenceMs;
	}

	/** Starts the update of a device; `look` reports its progress. */
	async begin(rollout: Rollout, deviceId: string): Promise<void> {
		const { devices, updates, offers, log } = this.#options;
		const device = devices.get(deviceId);
		if (!device) return;
		this.#begun.add(deviceId);
		const rejection = await this.#follow(rollout, deviceId, () =>
			offers ? offers.send(rollout, device) : updates.trigger(device, ...triggerOf(rollout)),
		);
		const { version } = rollout.plan.firmware;
		log.info({ rollout: rollout.id, deviceId, version, refused: rejection?.code }, "rollout: update offered");
	}

	/** Call it for each device to which the previous driver has offered the update. */
	async takeOver(rollout: Rollout, deviceId: string): Promise<void> {
		const { offers } = this.#options;
		if (offers) await this.#follow(rollout, deviceId, () => offers.recall(rollout, deviceId));
	}

	async #follow(
		{ id }: Rollout,
		deviceId: string,
		offer: () => Promise<UpdateRejection | undefined>,
	): Promise<UpdateRejection | undefined> {
		this.#offers.set(deviceId, "pending");
		const rejection = await offer().catch((error): UpdateRejection => {
			this.#options.log.error({ rollout: id, deviceId, err: error }, "rollout: update could not be started");
			return { code: "no_firmware", message: "The firmware could not be read." };
		});
		this.#offers.set(deviceId, rejection ?? "sent");
		return rejection;
	}

	/** Delays the next attempt. */
	delay(deviceId: string): void {
		const { monotonic } = this.#options;
		this.#readyAt.set(deviceId, monotonic() + retryMs * (0.5 + this.#draw() / 2));
	}

	/** @returns undefined if the gateway does not know the device */
	look(deviceId: string): Seen | undefined {
		const { devices, updates, monotonic, latestCrashOf } = this.#options;
		const device = devices.get(deviceId);
		if (!device) {
			this.#readyAt.delete(deviceId);
			this.#begun.delete(deviceId);
			this.#offers.delete(deviceId);
			return undefined;
		}
		const { model, chip, firmwareVersion: version, session } = device;
		const isConnected = session.isReachable && device.hasReported;
		let readyAt = this.#readyAt.get(deviceId) ?? Number.NEGATIVE_INFINITY;
		if (!isConnected) readyAt = Number.POSITIVE_INFINITY;
		else if (readyAt === Number.POSITIVE_INFINITY) readyAt = monotonic() + returnMs * this.#draw();
		this.#readyAt.set(deviceId, readyAt);
		const job = updates.historyOf(deviceId).at(-1);
		return {
			model,
			chip,
			version,
			isConnected,
			isAvailable: monotonic() >= readyAt,
			offer: this.#offers.get(deviceId),
			job,
			crash: latestCrashOf?.(deviceId),
			isInherited: !this.#begun.has(deviceId),
			isReturning: !isConnected && monotonic() < this.#returningUntil,
		};
	}

	#draw(): number {
		return (this.#options.random ?? Math.random)();
	}
}

/** @returns version and images for `Updates.trigger` */
export function triggerOf({ plan }: Rollout): readonly [version: string, pinned: readonly string[]] {
	const { version, source, images } = plan.firmware;
	return [source === "upload" ? "custom" : version, images.map(({ sha256 }) => sha256)];
}
