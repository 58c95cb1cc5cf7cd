/** Attempts of rollouts to update devices: starts them and tracks their results. */

import type { Logger } from "pino";
import type { Rollout } from "../api/rollout.js";
import type { Base } from "../base.js";
import type { UpdateRejection } from "../firmware/rejections.js";
import { silenceMs } from "../firmware/update-job.js";
import type { Updates } from "../firmware/updates.js";
import type { LatestCrash } from "../services/devices.js";
import type { Device } from "../sessions/device.js";
import type { DeviceSnapshot, Offer } from "./device-step.js";

export interface AttemptsOptions extends Pick<Base, "monotonic"> {
	readonly log: Pick<Logger, "info" | "error">;
	readonly updates: Pick<Updates, "trigger" | "historyOf">;
	/** Default: no known crashes. */
	readonly latestCrashOf?: (deviceId: string) => LatestCrash | undefined;
	/** Devices by id. */
	readonly devices: ReadonlyMap<string, Device>;
	/** Random number from 0 to less than 1. Default: Math.random. */
	readonly random?: () => number;
}

/** Maximum random delay before a reconnected device begins, so that a fleet does not begin simultaneously. */
const returnMs = 10_000;
/** Maximum delay before the next attempt. The actual delay is random in the upper half. */
const retryMs = 60_000;

export class Attempts {
	readonly #options: AttemptsOptions;
	/** Devices whose latest attempt this process began. Comparing times instead would fail if the clock was set back. */
	readonly #begun = new Set<string>();
	/** Latest offer by device id, unless it was sent. */
	readonly #offers = new Map<string, Offer>();
	/** Monotonic time from which a device may begin, by device id; infinity while it is offline. */
	readonly #readyAt = new Map<string, number>();
	/** Monotonic time until which an offline device may be about to connect. */
	#returningUntil = 0;

	constructor(options: AttemptsOptions) {
		this.#options = options;
		this.awaitReturns();
	}

	/** Must be called when connected devices may be unknown for a while. */
	awaitReturns(): void {
		this.#returningUntil = this.#options.monotonic() + silenceMs;
	}

	/** Starts the update of a device. `snapshotOf` returns its progress. */
	async begin(rollout: Rollout, deviceId: string): Promise<void> {
		const { devices, updates, log } = this.#options;
		const device = devices.get(deviceId);
		if (!device) return;
		this.#begun.add(deviceId);
		this.#offers.set(deviceId, "pending");
		const { id: rolloutId, plan } = rollout;
		const { version, source, images } = plan.firmware;
		const pinned = images.map(({ sha256 }) => sha256);
		const rejection = await updates
			.trigger(device, source === "upload" ? "custom" : version, pinned)
			.catch((error): UpdateRejection => {
				log.error({ rollout: rolloutId, deviceId, err: error }, "rollout: starting the update failed");
				return { code: "no_firmware", message: "Reading the firmware failed." };
			});
		// Otherwise the device has connected to another gateway or was removed.
		if (this.#offers.delete(deviceId) && rejection) this.#offers.set(deviceId, rejection);
		log.info({ rollout: rolloutId, deviceId, version, rejected: rejection?.code }, "rollout: update offered");
	}

	/** Delays the next attempt. */
	delay(deviceId: string): void {
		const { monotonic } = this.#options;
		this.#readyAt.set(deviceId, monotonic() + retryMs * (0.5 + this.#draw() / 2));
	}

	/** Returns the milliseconds until a delayed device may begin; undefined if it may begin now or is offline. */
	delayOf(deviceId: string): number | undefined {
		const delay = (this.#readyAt.get(deviceId) ?? 0) - this.#options.monotonic();
		return delay > 0 && delay < Number.POSITIVE_INFINITY ? delay : undefined;
	}

	/** @returns undefined if the device is unknown */
	snapshotOf(deviceId: string): DeviceSnapshot | undefined {
		const { devices, updates, monotonic, latestCrashOf } = this.#options;
		const device = devices.get(deviceId);
		const isElsewhere = device?.session.connected === true && device.session.link.isRemote === true;
		if (!device || isElsewhere) {
			this.#readyAt.delete(deviceId);
			this.#begun.delete(deviceId);
			this.#offers.delete(deviceId);
		}
		if (!device) return undefined;
		const { model, chip, firmwareVersion: version, imageId, session } = device;
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
			imageId,
			isConnected,
			isElsewhere,
			isAvailable: !isElsewhere && monotonic() >= readyAt,
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
