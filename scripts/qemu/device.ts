/** Sets up a board in QEMU as the arguments of `npm run qemu` say, and runs it. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { idOf, type Model } from "../../device/protocol/models.js";
import { binFolder, buildBoard, qemuBoardOf } from "../boards/build.js";
import { makeFlashImage, settingsPartition } from "../boards/flash-image.js";
import { readPins } from "../boards/pins.js";
import { needBoardTools } from "../boards/tools.js";
import { exitCodeOf } from "../command-line/child.js";
import { thisMachine } from "../command-line/machine.js";
import { Problems } from "../command-line/problems.js";
import { packageVersion, projectFolder } from "../command-line/project.js";
import { builtInReleaseKeys } from "../command-line/release-keys.js";
import { readArguments } from "./arguments.js";
import { EmulatedBoard, type EmulatedBoardOptions } from "./board.js";
import { findQemu, macAddress, type QemuOptions, startQemu } from "./tools.js";

const outputFolder = join(projectFolder, ".cache", "qemu");

/** @returns a device that is off; undefined if only an image was built @throws Error with all problems */
export async function setUp(words: readonly string[]): Promise<EmulatedDevice | undefined> {
	const request = readArguments(words);
	const { model, mode } = request;
	const problems = new Problems();
	const sdk = mode === "keep" ? undefined : needBoardTools(problems, request);
	const qemu = mode === "build" ? undefined : problems.attempt(() => findQemu(thisMachine()));
	if (problems.areFound) throw problems.asError();
	const host = qemuBoardOf(model);
	const bins = binFolder(outputFolder, host);
	const folder = join(outputFolder, "run", model.toLowerCase());
	const flashFile = join(folder, "flash.bin");
	if (mode === "keep" && !existsSync(flashFile))
		throw new Error("No flash to keep yet. Run it with --gateway and without keep first.");
	if (sdk) {
		const { version = packageVersion() } = request;
		console.log(`Building firmware ${version} for QEMU. The first build takes several minutes.`);
		await buildBoard({ sdk, model, host, version, releaseKeys: builtInReleaseKeys(), outputFolder });
	}
	if (!qemu) {
		console.log(`Image: ${join(bins, "xs_esp32.bin")}`);
		return undefined;
	}
	mkdirSync(folder, { recursive: true });
	const { settings } = request;
	if (settings) writeFileSync(flashFile, makeFlashImage(bins, settingsPartition(settings)), { mode: 0o600 });
	const samplesFile = join(folder, "sound.pcm");
	return new EmulatedDevice({ qemu, folder, model, pins: await readPins(model), samplesFile });
}

export interface EmulatedDeviceOptions extends QemuOptions, Omit<EmulatedBoardOptions, "stream"> {
	readonly model: Model;
}

/** Board in QEMU, which keeps its flash across power cuts. */
export class EmulatedDevice {
	readonly deviceId: string;
	readonly board: EmulatedBoard;
	readonly #options: EmulatedDeviceOptions;
	#qemu: ReturnType<typeof startQemu>;

	constructor(options: EmulatedDeviceOptions) {
		this.deviceId = idOf(options.model, macAddress);
		this.#options = options;
		this.#qemu = startQemu(options);
		this.board = new EmulatedBoard({ stream: this.#qemu.board, ...options });
	}

	/** Process and serial port of the running QEMU. */
	get qemu(): Pick<ReturnType<typeof startQemu>, "child" | "stdin" | "stdout"> {
		return this.#qemu;
	}

	async powerCycle(): Promise<void> {
		await this.close();
		this.#qemu = startQemu(this.#options);
		this.board.connect(this.#qemu.board);
	}

	async close(): Promise<void> {
		const { child } = this.#qemu;
		const closed = exitCodeOf(child);
		child.kill("SIGKILL");
		await closed;
	}
}
