/** Installs firmware on a board over USB, and waits until the device connects. */

import { messageOf } from "../../../../device/message-of.js";
import { idOf } from "../../../../device/protocol/models.js";
import type { Model } from "../../../../device/protocol/schema.js";
import { makeNvsImage, settingsNamespace } from "../../../../hosts/esp32/nvs-image.js";
import { partitionTableOffset, readPartitionTable } from "../../../../hosts/esp32/partition-table.js";
import type { Catalog } from "../../../api/firmware.js";
import type { App } from "../app/app.js";
import { request } from "../app/gateway.js";
import { Board, type FlashFile } from "./board.js";
import { InstallError } from "./errors.js";
import { FirmwarePort } from "./firmware-port.js";
import { loadFiles } from "./release.js";
import { changedSettings, type SettingsInput, storedSettings } from "./settings.js";

export interface Installation {
	readonly catalog: Catalog;
	readonly model: Model;
	readonly settings: SettingsInput;
}

export type InstallState =
	| { readonly name: "idle" }
	/** The board must stay connected. @param percent null if unknown */
	| { readonly name: "working"; readonly words: string; readonly percent: number | null }
	/** @param since milliseconds of the gateway's clock */
	| { readonly name: "waiting"; readonly words: string; readonly since: number }
	| { readonly name: "done"; readonly deviceId: string }
	| { readonly name: "failed"; readonly problem: InstallError };

/** Dependencies of the installer. */
type InstallerPage = Pick<App, "clock" | "fleet" | "painter" | "follow">;

export class Installer {
	readonly #page: InstallerPage;
	readonly #serial: Serial;
	#state: InstallState = { name: "idle" };
	#stopWaiting = () => {};
	/** Port of the board that is being set up. */
	#port: SerialPort | undefined;

	constructor(page: InstallerPage, serial: Serial) {
		this.#page = page;
		this.#serial = serial;
	}

	get state(): InstallState {
		return this.#state;
	}

	/** Whether a board is being flashed, which leaving the page would interrupt. */
	get isBusy(): boolean {
		return this.#state.name === "working";
	}

	/** Returns to the form. */
	reset(): void {
		this.#stopWaiting();
		this.#set({ name: "idle" });
	}

	/** Installs firmware. Like the next two methods, it must be called from a click, since browsers request ports only then. */
	install(installation: Installation): Promise<void> {
		return this.#attempt(async () => {
			const port = await this.#choosePort();
			this.#work("Connecting to the board…");
			const board = await Board.connect(port);
			try {
				await this.#write(board, installation);
			} finally {
				await board.close();
			}
		});
	}

	/** Sends settings to the firmware on a board. */
	setUp(settings: SettingsInput): Promise<void> {
		return this.#attempt(() =>
			this.#useFirmware(async (firmware, deviceId) => {
				const startedAt = this.#page.clock.now();
				await firmware.sendSettings(changedSettings(settings, await createToken(deviceId)));
				this.#work(`${deviceId} is joining the network. Keep the board connected.`);
				await firmware.join(settings.ssid, settings.password);
				this.#waitFor(deviceId, startedAt, `${deviceId} joined the network. Waiting for it to connect…`);
			}),
		);
	}

	/** Scans for networks. @returns their names, the strongest first; undefined after a failure, which the state contains */
	async findNetworks(): Promise<readonly string[] | undefined> {
		let names: readonly string[] | undefined;
		await this.#attempt(async () => {
			names = await this.#useFirmware((firmware) => firmware.networks());
			this.reset();
		});
		return names;
	}

	async #attempt(action: () => Promise<void>): Promise<void> {
		this.reset();
		try {
			await action();
		} catch (error) {
			if (!(error instanceof InstallError)) throw error;
			this.#port = undefined;
			this.#set({ name: "failed", problem: error });
		}
	}

	async #useFirmware<T>(use: Parameters<typeof FirmwarePort.use<T>>[1]): Promise<T> {
		this.#port ??= await this.#choosePort();
		this.#work("Connecting to the board…");
		return FirmwarePort.use(this.#port, use);
	}

	/** @throws InstallError */
	#choosePort(): Promise<SerialPort> {
		return this.#serial.requestPort().catch((cause: unknown) => {
			throw new InstallError("no_port", undefined, { cause });
		});
	}

	#work(words: string): void {
		this.#set({ name: "working", words, percent: null });
	}

	async #write(board: Board, installation: Installation): Promise<void> {
		const { catalog, model, settings } = installation;
		const deviceId = idOf(model, board.macAddress);
		const files = await loadFiles(catalog, model, board.chipFamily);
		const table = files.find(({ address }) => address === partitionTableOffset)?.data ?? new Uint8Array();
		files.push(settingsFile(table, storedSettings(settings, await createToken(deviceId))));
		const startedAt = this.#page.clock.now();
		const words = `Writing firmware to ${deviceId}. Keep the board connected.`;
		const onProgress = (part: number) =>
			this.#set({ name: "working", words, percent: Math.floor(100 * part) });
		onProgress(0);
		await board.write(files, onProgress);
		await board.restart();
		this.#waitFor(deviceId, startedAt, `${deviceId} is installed. Waiting for it to connect…`);
	}

	/** Waits for a device to connect. @param startedAt start of the installation; earlier connections are ignored */
	#waitFor(deviceId: string, startedAt: number, words: string): void {
		const { clock, fleet, painter } = this.#page;
		this.#set({ name: "waiting", words, since: clock.now() });
		const check = () => {
			const { connected = false, connectedAt = "" } = fleet.get(deviceId)?.session ?? {};
			if (!connected || !(Date.parse(connectedAt) > startedAt)) return;
			this.#stopWaiting();
			this.#set({ name: "done", deviceId });
		};
		// The summary does not contain the time of the connection.
		const ends = [this.#page.follow(deviceId), painter.listen(`device ${deviceId}`, check)];
		this.#stopWaiting = () => {
			for (const end of ends.splice(0)) end();
		};
		check();
	}

	#set(state: InstallState): void {
		this.#state = state;
		this.#page.painter.mark("install");
	}
}

/** @throws InstallError if a setting does not fit */
function settingsFile(table: Uint8Array, values: Readonly<Record<string, string>>): FlashFile {
	const partition = readPartitionTable(table).get("nvs");
	if (!partition) throw new InstallError("no_download", "This release has no settings partition.");
	const { offset: address, byteLength } = partition;
	try {
		return { address, data: makeNvsImage({ byteLength, namespace: settingsNamespace, values }) };
	} catch (error) {
		throw new InstallError("setting", `${messageOf(error)}.`);
	}
}

/** Creates a token for a device. @throws InstallError */
async function createToken(deviceId: string): Promise<string> {
	try {
		return (await request("POST /api/device-tokens", { body: { deviceId } })).token;
	} catch (error) {
		throw new InstallError(
			"no_download",
			`The gateway did not create a token for ${deviceId}: ${messageOf(error)}`,
		);
	}
}
