/** Executes the schedule's actions except restarts, and records what the gateway has acknowledged. */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Images } from "./images.js";
import { type Action, stepMs } from "./schedule.js";
import type { Place, World } from "./world.js";

type Of<N extends Action["do"]> = Extract<Action, { do: N }>;

export class Actions {
	readonly #world: World;
	/** Current fault; each action ends only its own. */
	#diskFault: object | undefined;
	#brightness = 0;
	#isUploading = false;

	constructor(world: World) {
		this.#world = world;
	}

	/** Starts an action; a long one continues beside the next steps. */
	async perform(action: Exclude<Action, Of<"restart">>): Promise<void> {
		const world = this.#world;
		switch (action.do) {
			case "freeze":
				world.gateway.freeze(true);
				return void this.#later(action.steps, () => world.gateway.freeze(false));
			case "disk":
				return this.#failDisk(action);
			case "clock":
				return world.gateway.setClock(action.byMs);
			case "roll out":
				return world.start(() => world.rollouts.start(action));
			case "load":
				return world.start(() => this.#load(action));
			case "few files":
				if (!world.gateway.limitFiles(action.spare)) return;
				return void this.#later(action.steps, () => world.gateway.limitFiles(undefined));
			case "line":
				return world.hold(world.place(action.device), () => this.#failLine(action));
			case "cut":
				return world.place(action.device).line.cut();
			case "cut all":
				for (const { line } of world.places) line.cut();
				return;
			case "power":
				return world.hold(world.place(action.device), () => this.#switchOff(action));
			case "second connection":
				return world.place(action.device).device.connectAgain();
			case "flood":
				for (let frame = 0; frame < action.frames; frame += 1) world.place(action.device).device.report();
				return;
			case "control":
				return world.start(() => this.#control(action));
			case "update":
				return world.start(() => this.#update(action));
			case "boot":
				return world.start(async () => {
					const { deviceId } = world.place(action.device).record;
					await world.monitor(action.monitor).request({ type: "boot_device", targetId: deviceId });
				});
			case "upload":
				return world.start(() => this.#upload(action));
			case "forget":
				return world.hold(world.place(action.device), () => this.#forget(action));
			case "stop reading": {
				const monitor = world.monitor(action.monitor);
				monitor.isReading = false;
				return void this.#later(action.steps, () => {
					monitor.isReading = true;
				});
			}
			case "drop monitor":
				return world.monitor(action.monitor).drop();
		}
	}

	#later(steps: number, task: () => unknown): void {
		this.#world.start(async () => {
			await pause(steps * stepMs);
			await task();
		});
	}

	/** Loads the gateway, which must keep its fleet: its frames must reach devices in time. */
	async #load({ steps }: Of<"load">): Promise<void> {
		const { gateway, places, journal } = this.#world;
		const { pauses } = gateway;
		const silent = () => places.filter(({ device, isHeld }) => !isHeld && device.silences > 0).length;
		for (const { device } of places) device.silences = 0;
		await gateway.load(true);
		await pause(steps * stepMs);
		await gateway.load(false);
		const lost = gateway.pauses === pauses ? silent() : 0;
		journal.note(`load: ${lost} devices closed their connections`);
		// A busy computer may cost a few connections.
		if (lost > places.length / 5)
			journal.break(`${lost} of ${places.length} devices timed out during a gateway overload`);
	}

	async #failDisk({ fault, steps }: Of<"disk">): Promise<void> {
		const { gateway } = this.#world;
		this.#diskFault = fault;
		await gateway.setDisk(fault);
		this.#later(steps, () => this.#diskFault === fault && gateway.setDisk(undefined));
	}

	async #failLine({ device, fault, steps }: Of<"line">): Promise<void> {
		const { line } = this.#world.place(device);
		line.fault = fault;
		await pause(steps * stepMs);
		line.fault = undefined;
	}

	async #switchOff({ device: number, steps }: Of<"power">): Promise<void> {
		const { device, line } = this.#world.place(number);
		await device.powerOff();
		line.cut();
		await pause(steps * stepMs);
		device.powerOn();
	}

	async #control({ monitor, device, kind }: Of<"control">): Promise<void> {
		const world = this.#world;
		const targetId = kind === 5 ? "no-such-device" : world.place(device).record.deviceId;
		this.#brightness += 1;
		const payloads: readonly object[] = [{ command: "query_state" }, { command: "no_such_command" }];
		const payload = payloads[kind - 3] ?? { command: "set_brightness", value: this.#brightness / 1_000_000 };
		const { code } = await world.monitor(monitor).request({ type: "control_device", targetId, payload });
		const isWrong = kind === 4 || kind === 5 ? code === "ack" : code === "invalid_command";
		if (isWrong) world.journal.break(`${JSON.stringify(payload)} to ${targetId} got ${code}`);
	}

	async #update({ monitor, device, version }: Of<"update">): Promise<void> {
		const { record } = this.#world.place(device);
		// A forgotten device gets a new list: the response may arrive after it was forgotten.
		const { accepted } = record;
		const isUpload = version === "custom";
		const asked = isUpload ? version : Images.release(Number(version));
		if (!record.askedAt.has(asked) || isUpload) record.askedAt.set(asked, performance.now());
		const message = { type: "trigger_ota", targetId: record.deviceId, version: asked };
		const { code } = await this.#world.monitor(monitor).request(message);
		this.#world.journal.note(`update of ${record.deviceId} to ${asked}: ${code}`);
		this.#world.journal.count(`update: ${code}`);
		if (code !== "ack") return;
		accepted.push({ version: isUpload ? undefined : asked });
		if (accepted === record.accepted) record.isKept = true;
	}

	async #upload({ isForPrototype, isDamaged }: Of<"upload">): Promise<void> {
		if (this.#isUploading) return;
		this.#isUploading = true;
		await this.#world.whenChecked;
		const { images, ledger, gateway, journal } = this.#world;
		const { bytes, version } = images.upload(isForPrototype ? "PROTO-1" : "DEV-1");
		const sent = isDamaged ? bytes.fill(0x55, 5000, 5004) : bytes;
		if (!isDamaged) ledger.uploads.push(version);
		const { status } = await gateway.upload(sent, version);
		journal.note(`upload of ${version}: ${status}`);
		if (status === 201 && isDamaged) journal.break("a damaged upload was accepted");
		if (status === 201) {
			ledger.uploadsKept = ledger.uploads.length;
			ledger.isUploadLost = false;
		}
		this.#isUploading = false;
	}

	async #forget({ device: number, steps }: Of<"forget">): Promise<void> {
		const { gateway } = this.#world;
		const place = this.#world.place(number);
		await place.device.powerOff();
		place.line.cut();
		const address = `/api/devices/${place.record.deviceId}`;
		for (let attempt = 0; attempt < 10; attempt += 1) {
			await pause(200);
			if ((await gateway.request(address)).text.includes('"connected":false')) break;
		}
		await this.#world.whenChecked;
		const { status } = await gateway.request(address, { method: "DELETE" });
		this.#world.journal.note(`forget ${place.record.deviceId}: ${status}`);
		await this.#onForgotten(place, address, status);
		await pause(steps * stepMs);
		place.device.powerOn();
	}

	async #onForgotten({ record }: Place, address: string, status: number): Promise<void> {
		const { gateway, journal } = this.#world;
		if (status === 404 || status === 409) return;
		// If it failed, or its result is unknown, it may be partly done.
		record.isKept = false;
		record.accepted = [];
		if (status !== 204) return;
		record.isForgotten = true;
		for (const folder of ["devices", "updates"]) {
			const path = join(gateway.dataDir, folder, `${record.deviceId}.json`);
			const isThere = await access(path).then(
				() => true,
				() => false,
			);
			if (isThere) journal.break(`${record.deviceId} was forgotten, but ${path} exists`);
		}
		const after = await gateway.request(address);
		if (after.status === 200)
			journal.break(`${record.deviceId} was forgotten, but the gateway still reports it`);
	}
}
