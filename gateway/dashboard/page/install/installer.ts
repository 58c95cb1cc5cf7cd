/** Installs firmware on a board that is connected by USB, and waits until it has joined the fleet. */

import type { Model } from "../../../../device/protocol/schema.js";
import { makeNvsImage, settingsNamespace } from "../../../../hosts/esp32/nvs-image.js";
import { partitionTableOffset, readPartitionTable } from "../../../../hosts/esp32/partition-table.js";
import type { GatewayClock } from "../../../api/client/clock.js";
import type { Fleet } from "../../../api/client/fleet.js";
import { ask, messageOf } from "../../../api/client/request.js";
import type { Catalog, Release } from "../../../api/firmware.js";
import type { Painter } from "../app/painter.js";
import { Board, type FlashFile } from "./board.js";
import { InstallError } from "./problems.js";
import { chipOf, installableRelease, loadFiles } from "./release.js";
import { type GivenSettings, storedSettings } from "./settings.js";

export interface Installation {
	readonly catalog: Catalog;
	/** Where the catalog has none for the board's chip: names the chips that it is for. */
	readonly release: Release;
	readonly model: Model;
	/** Undefined: the board keeps those that it has. */
	readonly settings: GivenSettings | undefined;
}

export type InstallState =
	| { readonly name: "idle" }
	/** The board must stay connected. @param percent null: not known */
	| { readonly name: "working"; readonly words: string; readonly percent: number | null }
	/**
	 * @param isStuck it starts only once its reset button is pressed
	 * @param since milliseconds of the gateway's clock
	 */
	| { readonly name: "waiting"; readonly deviceId: string; readonly isStuck: boolean; readonly since: number }
	| { readonly name: "done"; readonly deviceId: string }
	| { readonly name: "failed"; readonly problem: InstallError };

/** What it needs of the page. */
export interface InstallerPage {
	readonly clock: Pick<GatewayClock, "now">;
	readonly fleet: Pick<Fleet, "get">;
	readonly painter: Painter;
	/** Requests a device's reports. @returns a function that ends it */
	follow(deviceId: string): () => void;
}

export class Installer {
	readonly #page: InstallerPage;
	readonly #serial: Serial;
	#state: InstallState = { name: "idle" };
	#stopWaiting = () => {};

	constructor(page: InstallerPage, serial: Serial) {
		this.#page = page;
		this.#serial = serial;
	}

	get state(): InstallState {
		return this.#state;
	}

	/** Whether a board is being written, so that leaving the page would break it. */
	get isBusy(): boolean {
		return this.#state.name === "working";
	}

	/** Back to the form. */
	reset(): void {
		this.#stopWaiting();
		this.#set({ name: "idle" });
	}

	/** To be called in answer to a click: browsers offer ports only then. */
	async install(installation: Installation): Promise<void> {
		this.reset();
		try {
			const port = await this.#serial.requestPort().catch((cause: unknown) => {
				throw new InstallError("no_port", undefined, { cause });
			});
			this.#set({ name: "working", words: "Connecting to the board…", percent: null });
			const board = await Board.connect(port);
			try {
				await this.#write(board, installation);
			} finally {
				await board.close();
			}
		} catch (error) {
			if (!(error instanceof InstallError)) throw error;
			this.#set({ name: "failed", problem: error });
		}
	}

	async #write(board: Board, { catalog, release, model, settings }: Installation): Promise<void> {
		const deviceId = `${model}-${board.macAddress.slice(-8).replaceAll(":", "")}`.toLowerCase();
		const fitting = installableRelease(catalog, model, (chip) => chip === chipOf(board.chipFamily));
		const files = await loadFiles(fitting ?? release, model, board.chipFamily);
		const table = files.find(({ address }) => address === partitionTableOffset)?.data ?? new Uint8Array();
		if (settings) files.push(settingsFile(table, storedSettings(settings, await readToken(deviceId))));
		else await requireSamePartitions(board, table);
		const begunAt = this.#page.clock.now();
		const words = `Writing the firmware to ${deviceId}. Leave the board connected.`;
		const onProgress = (part: number) =>
			this.#set({ name: "working", words, percent: Math.floor(100 * part) });
		onProgress(0);
		await board.write(files, onProgress);
		const isStarted = await board.restart();
		this.#waitFor(deviceId, begunAt, !isStarted);
	}

	/** @param begunAt when it was begun to be written: its connection then does not count */
	#waitFor(deviceId: string, begunAt: number, isStuck: boolean): void {
		const { clock, fleet, painter } = this.#page;
		this.#set({ name: "waiting", deviceId, isStuck, since: clock.now() });
		const check = () => {
			const { connected = false, connectedAt = "" } = fleet.get(deviceId)?.session ?? {};
			if (!connected || !(Date.parse(connectedAt) > begunAt)) return;
			this.#stopWaiting();
			this.#set({ name: "done", deviceId });
		};
		// The summary of all devices does not say when they have connected.
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

/** @throws InstallError where a setting does not fit */
function settingsFile(table: Uint8Array, values: Readonly<Record<string, string>>): FlashFile {
	const partition = readPartitionTable(table).get("nvs");
	if (!partition) throw new InstallError("no_download", "This release has no partition for settings.");
	const { offset: address, byteLength } = partition;
	try {
		return { address, data: makeNvsImage({ byteLength, namespace: settingsNamespace, values }) };
	} catch (error) {
		throw new InstallError("setting", `${error instanceof Error ? error.message : error}.`);
	}
}

/** Settings are kept only where the firmware finds them again. @throws InstallError */
async function requireSamePartitions(board: Board, table: Uint8Array): Promise<void> {
	const expected = readPartitionTable(table).get("nvs");
	const found = (await board.readPartitions(table.byteLength)).get("nvs");
	if (!found || found.offset !== expected?.offset || found.byteLength !== expected.byteLength)
		throw new InstallError("other_partitions");
}

/** The token of this device alone, made now. @throws InstallError */
async function readToken(deviceId: string): Promise<string> {
	try {
		const body = { deviceId };
		return (await ask<{ token: string }>("api/device-tokens", { method: "POST", body })).token;
	} catch (error) {
		throw new InstallError(
			"no_download",
			`The gateway did not make a token for ${deviceId}: ${messageOf(error)}`,
		);
	}
}
