/** Boards in QEMU: their firmware, their parts, and a gateway for them. */

import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Model } from "../../../device/protocol/models.js";
import { binFolder, qemuBoardOf } from "../../../scripts/boards/build.js";
import { makeFlashImage, settingsPartition } from "../../../scripts/boards/flash-image.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import type { ModdableSdk } from "../../../scripts/moddable/sdk.js";
import { type BoardEvent, EmulatedBoard, pinsOf } from "../../../scripts/qemu/board.js";
import { startQemu } from "../../../scripts/qemu/tools.js";
import { buildQuietly } from "../../support/board-builds.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { nextEvent, sourceOf, within } from "../../support/eventually.js";
import { portOf } from "../../support/ports.js";
import { type Connection, runScriptedGateway, type ScriptedGateway } from "../../support/scripted-gateway.js";

/** Address of this computer in the network of QEMU. */
export const hostAddress = "10.0.2.2";

export interface BuiltForQemu {
	readonly image: Buffer;
	/** Boot loader, partition table and image. @param gateway address in settings */
	flash(gateway: string): Uint8Array;
}

/** Builds the firmware of a board, like `npm run qemu`. */
export async function buildForQemu(sdk: ModdableSdk, model: Model, releaseKeys = ""): Promise<BuiltForQemu> {
	const outputFolder = join(projectFolder, ".cache", "qemu");
	const host = qemuBoardOf(model);
	const options = { sdk, model, host, version: "1.0.0", releaseKeys, outputFolder };
	const image = readFileSync(await buildQuietly(options));
	const parts = makeFlashImage(binFolder(outputFolder, host), settingsPartition({}));
	return {
		image,
		flash(gateway) {
			const flash = Uint8Array.from(parts);
			const { bytes, offset } = settingsPartition({ ssid: "qemu", gateway, token: "token-of-the-tests" });
			flash.set(bytes, offset);
			return flash;
		},
	};
}

export interface QemuRigOptions {
	readonly qemu: string;
	readonly model: Model;
	readonly built: BuiltForQemu;
}

interface Started {
	readonly child: ChildProcess;
	readonly board: EmulatedBoard;
}

/** Board in QEMU that connects to a scripted gateway. */
export class QemuRig {
	/** Events since the start or the last `forget()`. */
	readonly events: BoardEvent[] = [];
	/** Output of the serial port. */
	serial = "";
	readonly gateway: ScriptedGateway;
	readonly #options: QemuRigOptions;
	readonly #folder: string;
	#started: Started;
	#arrived = () => {};

	static async start(t: TestContext, options: QemuRigOptions): Promise<QemuRig> {
		const folder = await temporaryDirectory(t);
		const rig = new QemuRig(await runScriptedGateway(t), folder, options);
		onEnd(t, () => rig.#cutPower());
		return rig;
	}

	private constructor(gateway: ScriptedGateway, folder: string, options: QemuRigOptions) {
		this.gateway = gateway;
		this.#options = options;
		this.#folder = folder;
		const url = `ws://${hostAddress}:${portOf(gateway.server)}/device`;
		writeFileSync(join(folder, "flash.bin"), options.built.flash(url));
		this.#started = this.#powerOn();
	}

	get board(): EmulatedBoard {
		return this.#started.board;
	}

	async powerCycle(): Promise<void> {
		await this.#cutPower();
		this.#started = this.#powerOn();
	}

	#powerOn(): Started {
		const { qemu, model } = this.#options;
		const { child, stdout, board: stream } = startQemu({ qemu, folder: this.#folder, isDeterministic: true });
		stdout.setEncoding("latin1").on("data", (text: string) => {
			this.serial += text;
			this.#arrived();
		});
		const onEvent = (event: BoardEvent) => {
			this.events.push(event);
			this.#arrived();
		};
		return { child, board: new EmulatedBoard({ stream, pins: pinsOf(model), onEvent }) };
	}

	async #cutPower(): Promise<void> {
		const { child } = this.#started;
		const closed = nextEvent(child, "close");
		child.kill("SIGKILL");
		await closed;
	}

	/** Next connection of the device. @throws Error with the serial output if there is none */
	async connection(): Promise<Connection> {
		try {
			return await this.gateway.connection();
		} catch (error) {
			throw new Error(`No connection. Serial port:\n${this.serial.slice(-3000)}`, { cause: error });
		}
	}

	/** Samples and silence that the I2S transmitter has sent since the start. */
	get sound(): Buffer {
		return readFileSync(join(this.#folder, "sound.pcm"));
	}

	forget(): void {
		this.events.length = 0;
	}

	/** Waits for text on the serial port after its first `start` characters. */
	printed(text: string, start: number): Promise<void> {
		const find = async () => {
			while (!this.serial.includes(text, start))
				await new Promise<void>((resolve) => {
					this.#arrived = resolve;
				});
		};
		return within(find(), `"${text}" on the serial port`);
	}

	/** Waits for an event since the last `forget()`. */
	until(predicate: (event: BoardEvent) => boolean): Promise<BoardEvent> {
		const find = async () => {
			for (let at = 0; ; at++) {
				while (at >= this.events.length)
					await new Promise<void>((resolve) => {
						this.#arrived = resolve;
					});
				const event = this.events[at];
				if (event && predicate(event)) return event;
			}
		};
		return within(find(), () => `a board's event of ${sourceOf(predicate)}`);
	}

	/** Collects frames of the ring that differ from the one before. */
	async frames(count: number): Promise<readonly string[]> {
		const rings = () => this.events.flatMap(({ ring }) => (ring === undefined ? [] : [ring]));
		await this.until(() => rings().length >= count);
		return rings();
	}
}
