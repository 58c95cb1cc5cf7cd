/**
 * A device that follows the protocol: it reports, executes commands, reconnects, and downloads, checks and runs firmware, or fails
 * in one of the ways that a draw selects. What it does is recorded as the truth.
 */

import { setTimeout as pause } from "node:timers/promises";
import type { Line } from "../support/line.js";
import type { Random } from "../support/random.js";
import { type Command, SimulatedDevice } from "../support/simulated-device.js";
import { download } from "./download.js";
import type { Images } from "./images.js";
import type { Journal } from "./journal.js";
import type { DeviceTruth } from "./ledger.js";
import { maxAttempts } from "./rollouts.js";

export interface TormentedDeviceOptions {
	readonly truth: DeviceTruth;
	readonly line: Line;
	readonly draw: Random;
	readonly images: Images;
	readonly journal: Journal;
	/** By a header, or only by its first report. */
	readonly isNamedByHeader: boolean;
}

/** The interface of a tormented device, scripted or virtual. */
export interface Tormented {
	readonly truth: DeviceTruth;
	/** Reports only on request. */
	isQuiet: boolean;
	readonly isOn: boolean;
	/** Whether its state is final without further actions. */
	readonly isIdle: boolean;
	/** How often it has given up a connection on which it heard nothing. */
	silences: number;
	powerOn(): void;
	/** Closes nothing; its line does. Resolves when it sends nothing any more. */
	powerOff(): Promise<void>;
	/** Sends a text, valid or not. */
	say(text: string | Buffer): void;
	report(): void;
	/** Connects a second time, as after a lost connection; the gateway closes the previous connection. */
	connectAgain(): void;
}

/** The result of an update. */
type Ending =
	| "runs"
	/** Reports, and rolls back later. */
	| "rolls back"
	/** Rolls back before its first report. */
	| "crashes"
	/** Sends ota_error. */
	| "fails"
	/** In the middle. */
	| "loses power";
const endings: readonly (readonly [number, Ending])[] = [
	[6, "runs"],
	[2, "rolls back"],
	[2, "crashes"],
	[1, "fails"],
	[1, "loses power"],
];

/** About the size of the images, for progress. */
const imageBytes = 24_000;
const lookMs = 1000;
const reportEvery = 2;
/** The gateway pings every 1.5 s. */
const silenceMs = 6000;

export class TormentedDevice extends SimulatedDevice implements Tormented {
	readonly truth: DeviceTruth;
	isQuiet = false;
	silences = 0;
	readonly #options: TormentedDeviceOptions;
	#heardAt = 0;
	#looks = 0;
	#timer: NodeJS.Timeout | undefined;
	/** Counts its starts: work begun before the latest one is abandoned. */
	#starts = 0;
	#startedAt = 0;
	/** The boot loader's action at the next start, after an update. */
	#onBoot: (() => void) | undefined;
	#isUpdating = false;
	#isOnProbation = false;

	constructor(options: TormentedDeviceOptions) {
		const { truth, line, isNamedByHeader } = options;
		super({
			url: () => `http://127.0.0.1:${line.port}`,
			deviceId: truth.deviceId,
			model: truth.model,
			isNamedByHeader,
			client: { handshakeTimeout: silenceMs, perMessageDeflate: false },
		});
		this.#options = options;
		this.truth = truth;
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

	say(text: string | Buffer): void {
		this.sendText(text);
	}

	override report(): void {
		const uptime = Math.floor((performance.now() - this.#startedAt) / 1000);
		super.report({ "system.firmware_version": this.truth.runs, "health.uptime_seconds": uptime });
	}

	connectAgain(): void {
		this.#connect();
	}

	#connect(): void {
		const { truth, draw } = this.#options;
		if (!this.isOn) return;
		truth.isForgotten = false;
		const socket = this.open();
		const isCurrent = () => this.socket === socket;
		const onFrame = () => {
			if (isCurrent()) this.#heardAt = performance.now();
		};
		onFrame();
		socket.on("open", () => isCurrent() && this.report());
		socket.on("ping", onFrame);
		socket.on("message", onFrame);
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
		const { truth, journal } = this.#options;
		if (command.command === "start_ota") {
			this.#countOffer(String(command.url));
			void this.#update(String(command.url));
			return;
		}
		if (command.command === "set_brightness") {
			const value = Number(command.value);
			if (truth.obeyed.has(value)) journal.break(`${truth.deviceId} got the same brightness twice: ${value}`);
			truth.obeyed.add(value);
			this.set({ "peripherals.led_ring.brightness_coef": value });
		}
		this.report();
	}

	/** A roll-out offers its version at most so often. */
	#countOffer(url: string): void {
		const { truth, journal } = this.#options;
		const [, version = ""] = /firmware-v(2\.\d+\.0)\.bin/.exec(url) ?? [];
		const offers = (truth.offers.get(version) ?? 0) + 1;
		truth.offers.set(version, offers);
		if (version !== "" && offers > maxAttempts && !truth.hasLostUpdates)
			journal.break(`${truth.deviceId} was offered ${version} ${offers} times by its roll-out`);
	}

	async #update(url: string): Promise<void> {
		const { truth, draw, images, journal } = this.#options;
		const busy = { type: "command_error", deviceId: truth.deviceId, command: "start_ota", code: "busy" };
		if (this.#isUpdating || this.#isOnProbation)
			return this.send({ ...busy, message: "an update is under way" });
		const ending = draw.byWeight(endings);
		const pauses = [draw.between(0, 3000), draw.between(0, 3000), draw.between(200, 2500)];
		const start = this.#starts;
		const isOver = () => this.#starts !== start;
		this.#isUpdating = true;
		this.progress(0, imageBytes);
		await pause(pauses[0]);
		const version = isOver() ? undefined : await download(url, truth, { images, journal, isOver });
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
		const previous = truth.runs;
		const isCrash = ending === "crashes" && !truth.ran.has(version);
		this.#onBoot = isCrash ? () => truth.rolledBack.add(version) : () => truth.boot(version);
		this.send({ type: "ota_complete" });
		await pause(50);
		if (isOver()) return;
		this.powerOn(isCrash ? "PANIC_RESET" : "SW_RESET");
		if (ending === "rolls back" && version !== previous) await this.#rollBack(previous, pauses[2]);
	}

	async #rollBack(previous: string, afterMs = 0): Promise<void> {
		const { truth } = this.#options;
		this.#isOnProbation = true;
		await pause(afterMs);
		this.#isOnProbation = false;
		truth.rolledBack.add(truth.runs);
		truth.boot(previous);
		if (this.isOn) this.powerOn("PANIC_RESET");
	}
}
