/** What the demo's page does with the demo's devices: it works their boards, hears them, cuts their power and makes releases. */

import { type RequestHandler, type Response, Router } from "express";
import { readBody } from "../../gateway/http/request-body.js";
import { HttpProblem, refuseMethod } from "../../gateway/problem.js";
import { applyInput } from "../../hosts/virtual/node/input.js";
import type { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { messageOf } from "../command-line/command.js";
import { BoardStream } from "./board-stream.js";
import type { DemoDevices, MadeRelease } from "./messages.js";
import type { DemoReleases } from "./releases.js";

interface Served {
	readonly device: VirtualDevice;
	readonly stream: BoardStream;
	/** The one that goes on now. */
	powerCut?: Promise<void> | undefined;
}

export class DemoApi {
	readonly #releases: Pick<DemoReleases, "make" | "next">;
	readonly #served = new Map<string, Served>();
	#onReady = () => {};
	/** A page of an earlier demo may ask before the devices run. */
	readonly #ready = new Promise<void>((resolve) => {
		this.#onReady = resolve;
	});

	constructor(releases: Pick<DemoReleases, "make" | "next">) {
		this.#releases = releases;
	}

	/** To be called once; until then requests wait. */
	serve(devices: readonly VirtualDevice[]): void {
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

	router(requirePerson: RequestHandler): Router {
		const router = Router({ caseSensitive: true, strict: true });
		const ready: RequestHandler = (_request, _response, next) => void this.#ready.then(() => next());
		const get = (path: string, handler: RequestHandler) =>
			router
				.route(path)
				.head(refuseMethod("GET"))
				.get(requirePerson, ready, handler)
				.all(refuseMethod("GET"));
		const post = (path: string, handler: RequestHandler) =>
			router.route(path).post(requirePerson, ready, handler).all(refuseMethod("POST"));
		get("/api/demo", (_request, response) => {
			const devices: DemoDevices = { devices: [...this.#served.keys()] };
			response.set("Cache-Control", "no-store").json(devices);
		});
		get("/api/demo/devices/:id/board", async ({ params }, response) => {
			const next = await this.#releases.next();
			this.#find(params.id).stream.add(response, next);
		});
		post("/api/demo/devices/:id/input", async (request, response) => {
			const { device } = this.#find(request.params.id);
			const line = (await readBody(request)) ?? "";
			try {
				applyInput(device.board, line);
			} catch (error) {
				throw new HttpProblem(422, `${messageOf(error)}.`);
			}
			response.status(204).end();
		});
		post("/api/demo/devices/:id/power-cut", async ({ params }, response) => {
			const served = this.#find(params.id);
			// Two at the same time would start the device twice.
			served.powerCut ??= served.device.powerCycle().finally(() => {
				served.powerCut = undefined;
			});
			await served.powerCut;
			response.status(204).end();
		});
		post("/api/demo/releases", (_request, response) => this.#makeRelease(response));
		return router;
	}

	async #makeRelease(response: Response): Promise<void> {
		const made: MadeRelease = { version: await this.#releases.make() };
		response.status(201).json(made);
		const next = await this.#releases.next();
		for (const { stream } of this.#served.values()) stream.send("next", next);
	}

	/** @throws {HttpProblem} where the demo does not run it */
	#find(deviceId: unknown): Served {
		const served = typeof deviceId === "string" ? this.#served.get(deviceId) : undefined;
		if (!served) throw new HttpProblem(404, "This demo runs no such device.");
		return served;
	}
}
