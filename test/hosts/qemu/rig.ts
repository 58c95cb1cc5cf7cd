/** Boards in QEMU: their firmware, their parts, and a gateway for them. */

import { readFileSync, writeFileSync } from "node:fs";
import disk from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Model } from "../../../device/protocol/models.js";
import { withFileLock } from "../../../gateway/storage/file-lock.js";
import { binFolder, qemuBoardOf } from "../../../scripts/boards/build.js";
import { makeFlashImage, partitionNamed, settingsPartition } from "../../../scripts/boards/flash-image.js";
import { type AllPins, readPins } from "../../../scripts/boards/pins.js";
import type { DeviceSettings } from "../../../scripts/command-line/device-settings.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import type { ModdableSdk } from "../../../scripts/moddable/sdk.js";
import type { BoardEvent, EmulatedBoard } from "../../../scripts/qemu/board.js";
import { EmulatedDevice } from "../../../scripts/qemu/device.js";
import { buildQuietly } from "../../support/board-builds.js";
import type { Certificate } from "../../support/certificates.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { sourceOf, within } from "../../support/eventually.js";
import { rewritten } from "../../support/images.js";
import { listen, portOf } from "../../support/ports.js";
import { sendRange } from "../../support/ranges.js";
import { type Connection, runScriptedGateway, type ScriptedGateway } from "../../support/scripted-gateway.js";

/** Address of this computer in the network of QEMU. */
export const hostAddress = "10.0.2.2";

export interface BuiltForQemu {
	readonly image: Buffer;
	/** Addresses of functions. */
	readonly symbols: ReadonlyMap<string, number>;
	/** Boot loader, partition table and image. */
	readonly flash: Uint8Array;
	readonly pins: AllPins;
}

const outputFolder = join(projectFolder, ".cache", "qemu");

/** Builds the firmware of a board, like `npm run qemu`. Test files wait for each other, until their time limit ends them. */
export function buildForQemu(sdk: ModdableSdk, model: Model, releaseKeys = ""): Promise<BuiltForQemu> {
	const work = async () => {
		const host = qemuBoardOf(model);
		const options = { sdk, model, host, version: "1.0.0", releaseKeys, outputFolder };
		const image = readFileSync(await buildQuietly(options));
		const bins = binFolder(outputFolder, host);
		const lines = readFileSync(join(bins, "xs_esp32s3.sym"), "utf8").matchAll(/^(\w{8}) .* F .*\s(\w+)$/gm);
		const symbols = new Map(
			Array.from(lines, ([, address = "", name = ""]) => [name, Number.parseInt(address, 16)]),
		);
		return {
			image,
			symbols,
			flash: makeFlashImage(bins, settingsPartition({})),
			pins: await readPins(model),
		};
	};
	return withFileLock(disk, outputFolder, work, Number.POSITIVE_INFINITY);
}

export interface QemuRigOptions {
	readonly qemu: string;
	readonly model: Model;
	readonly built: BuiltForQemu;
	/** Default: the built one. */
	readonly image?: Buffer;
	/** Default: one without TLS. */
	readonly gateway?: ScriptedGateway;
	readonly settings?: DeviceSettings;
	/** Default: one with the settings. */
	readonly nvs?: Uint8Array;
}

/** Board in QEMU that connects to a scripted gateway. */
export class QemuRig {
	/** Events since the start or the last `forget()`. */
	readonly events: BoardEvent[] = [];
	/** Output of the serial port. */
	serial = "";
	readonly gateway: ScriptedGateway;
	readonly model: Model;
	readonly #folder: string;
	readonly #flashFile: string;
	readonly #device: EmulatedDevice;
	#arrived = () => {};

	static async start(t: TestContext, options: QemuRigOptions): Promise<QemuRig> {
		const folder = await temporaryDirectory(t);
		const rig = new QemuRig(options.gateway ?? (await runScriptedGateway(t)), folder, options);
		onEnd(t, () => rig.#device.close());
		return rig;
	}

	private constructor(gateway: ScriptedGateway, folder: string, options: QemuRigOptions) {
		this.gateway = gateway;
		this.model = options.model;
		this.#folder = folder;
		this.#flashFile = join(folder, "flash.bin");
		const { built, image = built.image, settings } = options;
		const address = `ws://${hostAddress}:${portOf(gateway.server)}/device`;
		const flash = Uint8Array.from(built.flash);
		flash.set(image, partitionNamed("ota_0").offset);
		const stored = { ssid: "qemu", gateway: address, token: "token-of-the-tests", ...settings };
		const { bytes, offset } = settingsPartition(stored);
		flash.set(options.nvs ?? bytes, offset);
		writeFileSync(this.#flashFile, flash);
		const onEvent = (event: BoardEvent) => {
			this.events.push(event);
			this.#arrived();
		};
		const { qemu, model } = options;
		const { pins } = built;
		this.#device = new EmulatedDevice({ qemu, folder, model, pins, onEvent, isDeterministic: true });
		this.#readSerial();
	}

	get board(): EmulatedBoard {
		return this.#device.board;
	}

	async powerCycle(): Promise<void> {
		await this.#device.powerCycle();
		this.#readSerial();
	}

	#readSerial(): void {
		this.#device.qemu.stdout.setEncoding("latin1").on("data", (text: string) => {
			this.serial += text;
			this.#arrived();
		});
	}

	/** Next connection of the device. @throws Error with the serial output if there is none */
	async connection(): Promise<Connection> {
		try {
			return await this.gateway.connection();
		} catch (error) {
			throw new Error(`No connection. Serial port:\n${this.serial.slice(-3000)}`, { cause: error });
		}
	}

	/** Contents of a partition. */
	read(partition: string): Buffer {
		const { offset, size } = partitionNamed(partition);
		return readFileSync(this.#flashFile).subarray(offset, offset + size);
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

	/** Frames of the ring since the last `forget()` that differ from the one before: bytes in wire order, in hex. */
	get shown(): readonly string[] {
		return this.events.flatMap(({ ring }) => (ring === undefined ? [] : [ring]));
	}

	/** Waits until that many are shown. */
	async frames(count: number): Promise<void> {
		await this.until(() => this.shown.length >= count);
	}
}

/** Image of another version, with its digest. */
export function versionOf(image: Buffer, version: string): Buffer {
	const text = version.padEnd(32, "\0");
	return [0x30, 0x138].reduce((bytes, offset) => rewritten(bytes, offset, text), image);
}

/** HTTP server of files for devices in QEMU. */
export class ImageServer {
	readonly #files = new Map<string, Uint8Array>();
	/** URL without a path. */
	readonly url: string;
	/** Requests since the start. */
	requests = 0;

	static async run(t: TestContext, certificate?: Certificate): Promise<ImageServer> {
		const server = certificate ? createSecureServer(certificate) : createServer();
		const images = new ImageServer(
			`http${certificate ? "s" : ""}://${hostAddress}:${await listen(t, server)}`,
		);
		server.on("request", (request, response) => {
			images.requests += 1;
			sendRange(request, response, images.#files.get(request.url ?? ""));
		});
		return images;
	}

	private constructor(url: string) {
		this.url = url;
	}

	/** @returns its address */
	serve(file: Uint8Array): string {
		const path = `/${this.#files.size}.bin`;
		this.#files.set(path, file);
		return `${this.url}${path}`;
	}
}
