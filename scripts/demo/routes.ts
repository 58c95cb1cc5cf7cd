/** Routes of the demo page: board inputs and outputs, power cuts, and releases. */

import { messageOf } from "../../device/message-of.js";
import { type Route, serve, streamed } from "../../gateway/http/routes.js";
import { RequestError } from "../../gateway/problem.js";
import type { Board } from "../../hosts/virtual/node/board.js";
import { applyInput } from "../../hosts/virtual/node/input.js";
import { BoardStream } from "./board-stream.js";
import { demoRoutes } from "./messages.js";
import { makeRelease, nextVersion, type ReleaseOptions } from "./releases.js";

/** Virtual device, or one in QEMU. */
export interface DemoDevice {
	readonly deviceId: string;
	readonly board: Board;
	powerCycle(): Promise<void>;
}

interface Served {
	readonly device: DemoDevice;
	readonly stream: BoardStream;
	/** Power cut in progress. */
	powerCut?: Promise<void> | undefined;
}

export class DemoApi {
	readonly #releases: ReleaseOptions;
	readonly #served = new Map<string, Served>();
	#onReady = () => {};
	/** Resolves when the devices run, for early requests of a page that is still open. */
	readonly #ready = new Promise<void>((resolve) => {
		this.#onReady = resolve;
	});

	constructor(releases: ReleaseOptions) {
		this.#releases = releases;
	}

	/** Starts to serve devices; requests wait until this is called once. */
	serve(devices: readonly DemoDevice[]): void {
		for (const device of devices)
			this.#served.set(device.deviceId, { device, stream: new BoardStream(device.board) });
		this.#onReady();
	}

	/** Ends all streams. */
	close(): void {
		for (const { stream } of this.#served.values()) stream.close();
		this.#served.clear();
		this.#onReady();
	}

	get routes(): readonly Route[] {
		return serve(demoRoutes, {
			"GET /api/demo": async () => {
				await this.#ready;
				return { devices: [...this.#served.keys()] };
			},
			"GET /api/demo/devices/:id/board": async ({ params: { id }, request, response }) => {
				const next = await nextVersion(this.#releases);
				const { stream } = await this.#find(id);
				if (request.method === "GET") stream.add(response, next);
				else response.end();
				return streamed;
			},
			"POST /api/demo/devices/:id/input": async ({ params: { id }, body }) => {
				const { device } = await this.#find(id);
				try {
					applyInput(device.board, JSON.stringify(body));
				} catch (error) {
					throw new RequestError(422, `${messageOf(error)}.`);
				}
			},
			"POST /api/demo/devices/:id/power-cut": async ({ params: { id } }) => {
				const served = await this.#find(id);
				// Concurrent power cuts would start the device twice.
				served.powerCut ??= served.device.powerCycle().finally(() => {
					served.powerCut = undefined;
				});
				await served.powerCut;
			},
			"POST /api/demo/releases": async () => {
				await this.#ready;
				const version = await makeRelease(this.#releases);
				void this.#announceNext();
				return { version };
			},
		});
	}

	async #announceNext(): Promise<void> {
		const next = await nextVersion(this.#releases);
		for (const { stream } of this.#served.values()) stream.send({ next });
	}

	/** @throws {RequestError} 404 for an unknown device */
	async #find(deviceId: string): Promise<Served> {
		await this.#ready;
		const served = this.#served.get(deviceId);
		if (!served) throw new RequestError(404, "Unknown device of the demo.");
		return served;
	}
}
