/**
 * Device that follows the protocol: it reports, executes commands, reconnects, and downloads, verifies and runs
 * firmware, or fails in a randomly selected way. Its record contains what it did.
 */

import { setTimeout as pause } from "node:timers/promises";
import type { FaultyLink } from "../support/faulty-link.js";
import type { Random } from "../support/random.js";
import { type Command, SimulatedDevice } from "../support/simulated-device.js";
import { download } from "./download.js";
import type { Images } from "./images.js";
import type { Journal } from "./journal.js";
import type { DeviceRecord } from "./ledger.js";
import { maxAttempts } from "./rollouts.js";

export interface SimulatedTormentDeviceOptions {
	readonly record: DeviceRecord;
	readonly line: FaultyLink;
	readonly draw: Random;
	readonly images: Images;
	readonly journal: Journal;
	/** Identified by a header, or only by its first report. */
	readonly isNamedByHeader: boolean;
}

/** Device of a torment run, simulated or virtual. */
export interface TormentDevice {
	readonly record: DeviceRecord;
	/** Sends reports only on request. */
	isQuiet: boolean;
	readonly isOn: boolean;
	/** Whether its state is final without further actions. */
	readonly isIdle: boolean;
	/** Number of connections it closed because it received nothing. */
	silences: number;
	powerOn(): void;
	/** Stops sending; its link closes the connection. Resolves when it sends nothing any more. */
	powerOff(): Promise<void>;
	report(): void;
	/** Connects a second time, as after a lost connection. The gateway closes the previous connection. */
	connectAgain(): void;
}

/** Result of an update. */
type Ending =
	| "runs"
	/** Reports and rolls back later. */
	| "rolls back"
	/** Rolls back before its first report. */
	| "crashes"
	/** Sends ota_error. */
	| "fails"
	/** Disconnects in the middle. */
	| "loses power";
const endings: readonly (readonly [number, Ending])[] = [
	[6, "runs"],
	[2, "rolls back"],
	[2, "crashes"],
	[1, "fails"],
	[1, "loses power"],
];

/** Approximate size of the images, for progress. */
const imageBytes = 24_000;
const lookMs = 1000;
const reportEvery = 2;
/** Timeout without frames. The gateway sends a ping or a pong every 1.5 s. */
const silenceMs = 6000;

export class SimulatedTormentDevice extends SimulatedDevice implements TormentDevice {
	readonly record: DeviceRecord;
	isQuiet = false;
	silences = 0;
	readonly #options: SimulatedTormentDeviceOptions;
	#heardAt = 0;
	#looks = 0;
	#timer: NodeJS.Timeout | undefined;
	/** Counts its starts: work from before the latest one is abandoned. */
	#starts = 0;
	#startedAt = 0;
	/** Action of the boot loader at the next start, after an update. */
	#onBoot: (() => void) | undefined;
	#isUpdating = false;
	#isOnProbation = false;

	constructor(options: SimulatedTormentDeviceOptions) {
		const { record, line, isNamedByHeader } = options;
		super({
			url: () => `http://127.0.0.1:${line.port}`,
			deviceId: record.deviceId,
			model: record.model,
			isNamedByHeader,
			client: { handshakeTimeout: silenceMs, perMessageDeflate: false },
		});
		this.#options = options;
		this.record = record;
	}

	get isOn(): boolean {
		return this.#timer !== undefined;
	}

	get isIdle(): boolean {
		return this.isOn && !this.#isUpdating && !this.#isOnProbation;
	}

	powerOn(reason = "POWERON_RESET"): void {
		void this.powerOff();
		this.#onBoot?.();
		this.#onBoot = undefined;
		this.#startedAt = performance.now();
		this.set({ "health.reset_reason": reason });
		this.#timer = setInterval(() => this.#look(), lookMs);
		this.#connect();
	}

	async powerOff(): Promise<void> {
		clearInterval(this.#timer);
		this.#timer = undefined;
		this.#starts += 1;
		this.#isUpdating = false;
		this.forget();
	}

	override report(): void {
		const uptime = Math.floor((performance.now() - this.#startedAt) / 1000);
		super.report({ "system.firmware_version": this.record.runs, "health.uptime_seconds": uptime });
	}

	connectAgain(): void {
		this.#connect();
	}

	#connect(): void {
		const { record, draw } = this.#options;
		if (!this.isOn) return;
		record.isForgotten = false;
		const socket = this.open();
		const isCurrent = () => this.socket === socket;
		const onFrame = () => {
			if (isCurrent()) this.#heardAt = performance.now();
		};
		onFrame();
		socket.on("open", () => isCurrent() && this.report());
		for (const event of ["ping", "pong", "message"]) socket.on(event, onFrame);
		socket.on("close", () => {
			if (isCurrent()) setTimeout(() => isCurrent() && this.#connect(), draw.between(50, 900));
		});
	}

	#look(): void {
		if (this.isConnected && performance.now() - this.#heardAt > silenceMs) {
			this.silences += 1;
			this.close();
		}
		this.#looks += 1;
		if (!this.isQuiet && this.#looks % reportEvery === 0) this.report();
	}

	protected override onCommand(command: Command): void {
		const { record, journal } = this.#options;
		if (command.command === "start_ota") {
			this.#countOffer(String(command.url));
			void this.#update(String(command.url));
			return;
		}
		if (command.command === "set_brightness") {
			const value = Number(command.value);
			if (record.executed.has(value))
				journal.break(`${record.deviceId} received the same brightness twice: ${value}`);
			record.executed.add(value);
			this.set({ "peripherals.led_ring.brightness_coef": value });
		}
		this.report();
	}

	/** Checks that a rollout offers its version at most `maxAttempts` times. */
	#countOffer(url: string): void {
		const { record, journal } = this.#options;
		const [, version = ""] = /firmware-v(2\.\d+\.0)\.bin/.exec(url) ?? [];
		const offers = (record.offers.get(version) ?? 0) + 1;
		record.offers.set(version, offers);
		if (version !== "" && offers > maxAttempts && !record.hasLostUpdates)
			journal.break(`${record.deviceId} was offered ${version} ${offers} times by its rollout`);
	}

	async #update(url: string): Promise<void> {
		const { record, draw, images, journal } = this.#options;
		const busy = { type: "command_error", deviceId: record.deviceId, command: "start_ota", code: "busy" };
		if (this.#isUpdating || this.#isOnProbation)
			return this.send({ ...busy, message: "an update is running" });
		const ending = draw.byWeight(endings);
		const pauses = [draw.between(0, 3000), draw.between(0, 3000), draw.between(200, 2500)];
		const start = this.#starts;
		const isOver = () => this.#starts !== start;
		this.#isUpdating = true;
		this.progress(0, imageBytes);
		await pause(pauses[0]);
		const version = isOver() ? undefined : await download(url, record, { images, journal, isOver });
		if (isOver()) return;
		if (version === undefined || ending === "fails") {
			this.#isUpdating = false;
			return this.send({ type: "ota_error", reason: "the image cannot be used" });
		}
		this.progress(50, imageBytes);
		await pause(pauses[1]);
		if (isOver()) return;
		if (ending === "loses power") return this.powerOn("PANIC_RESET");
		this.progress(100, imageBytes);
		const previous = record.runs;
		const isCrash = ending === "crashes" && !record.ran.has(version);
		this.#onBoot = isCrash ? () => record.rolledBack.add(version) : () => record.boot(version);
		this.send({ type: "ota_complete" });
		await pause(50);
		if (isOver()) return;
		this.powerOn(isCrash ? "PANIC_RESET" : "SW_RESET");
		if (ending === "rolls back" && version !== previous) await this.#rollBack(previous, pauses[2]);
	}

	async #rollBack(previous: string, afterMs = 0): Promise<void> {
		const { record } = this.#options;
		this.#isOnProbation = true;
		await pause(afterMs);
		this.#isOnProbation = false;
		record.rolledBack.add(record.runs);
		record.boot(previous);
		if (this.isOn) this.powerOn("PANIC_RESET");
	}
}
