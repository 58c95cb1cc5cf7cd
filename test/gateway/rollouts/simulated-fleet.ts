/**
 * Many devices in virtual time, with the gateway's Sessions, Updates and Rollouts on a real folder, which can be
 * killed at any step of the disk. Devices speak the protocol; only the sockets are left out.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { checkUplink, type Feature } from "../../../device/protocol/messages.js";
import type { Counts } from "../../../gateway/api/rollout.js";
import { Events } from "../../../gateway/events.js";
import type { UpdateRejection } from "../../../gateway/firmware/rejections.js";
import type { Selection } from "../../../gateway/firmware/selection.js";
import { jobsFile } from "../../../gateway/firmware/update-job.js";
import { Updates } from "../../../gateway/firmware/updates.js";
import { Rollouts } from "../../../gateway/rollouts/rollouts.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import type { Session } from "../../../gateway/sessions/device.js";
import { DeviceStore } from "../../../gateway/sessions/device-store.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { FileLog } from "../../../gateway/storage/file-log.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import type { CreateRecords } from "../../../gateway/storage/records.js";
import { changingDisk, systemError } from "../../support/disk.js";
import type { Random } from "../../support/random.js";
import { sampleReport, withField } from "../../support/sample-report.js";

export const newVersion = "2.0.0";
export const sha256 = "1".repeat(64);
/** Base version of the patch to `newVersion`, and its SHA-256. */
const oldVersion = "1.0.0";
const oldSha256 = "0".repeat(64);

/** Results of a device's updates: the first one, and later ones. */
export const fates = {
	fine: ["updates", "updates"],
	"restarts once": ["restarts", "updates"],
	"never succeeds": ["fails", "fails"],
	"goes back": ["goes back", "goes back"],
	"is silent": ["hangs", "hangs"],
} as const;
export type Fate = keyof typeof fates;

/** Milliseconds since 1970. */
export const startedAt = 1_700_000_000_000;
const bootMs = 5_000;
/** Probation time of the new firmware. */
const probationMs = 120_000;

/** Virtual time with scheduled events. */
export class Timeline {
	now = 0;
	/** Error of the gateway's clock, in ms. */
	skewMs = 0;
	readonly #planned: { readonly at: number; readonly run: () => void }[] = [];

	in(ms: number, run: () => void): void {
		this.#planned.push({ at: this.now + ms, run });
	}

	/** Schedules an event after `ms`. */
	pass(ms: number): void {
		this.now += ms;
		const due = this.#planned.filter(({ at }) => at <= this.now).sort((a, b) => a.at - b.at);
		const later = this.#planned.filter(({ at }) => at > this.now);
		this.#planned.splice(0, this.#planned.length, ...later);
		for (const { run } of due) run();
	}
}

export class SimulatedDevice {
	readonly id: string;
	readonly fate: Fate;
	version: string;
	isOn = true;
	/** Session id of its next connection. */
	features: readonly Feature[] = [];
	/** Whether each received `start_ota` included a patch. */
	readonly patched: boolean[] = [];
	/** Version of each received `start_ota`. */
	readonly sent: string[] = [];
	/** Called first when it receives one. */
	onSent: (version: string) => void = () => {};
	isUpdating = false;
	/** Number of initial offers to reject. */
	rejections = 0;
	/** Drops all commands to the device. */
	isDeaf = false;
	readonly #time: Timeline;
	#bootedAt = 0;
	#resetReason = "POWERON_RESET";
	#session: Session | undefined;
	#gateway: SimulatedGateway | undefined;

	constructor(time: Timeline, id: string, fate: Fate, version: string) {
		this.#time = time;
		this.id = id;
		this.fate = fate;
		this.version = version;
	}

	get offers(): number {
		return this.sent.length;
	}

	get isConnected(): boolean {
		return this.#session?.connected === true && this.#gateway?.isRunning === true;
	}

	/** No effect while off. */
	connect(gateway: SimulatedGateway): void {
		if (!this.isOn || this.isConnected) return;
		this.#gateway = gateway;
		const handshake = {
			deviceId: this.id,
			isBound: false,
			features: this.features,
			model: "DEV-1",
			chip: "esp32s3",
			remoteAddress: "10.0.0.2",
			baseUrl: "http://gateway.lan:8080",
		} as const;
		const session: Session = gateway.sessions.open(handshake, {
			send: (text) => {
				if (gateway.isRunning && this.#session === session) this.#execute(text);
			},
			isOpen: () => gateway.isRunning && session.connected,
			close: () => {},
		});
		this.#session = session;
		this.#report();
	}

	turnOn(gateway: SimulatedGateway): void {
		this.isOn = true;
		this.connect(gateway.latest);
	}

	#report(): void {
		const report = withField(sampleReport("DEV-1"), "deviceId", this.id);
		const uptime = Math.floor((this.#time.now - this.#bootedAt) / 1000);
		const versioned = withField(report, "system.firmware_version", this.version);
		const aged = withField(versioned, "health.uptime_seconds", uptime);
		this.#send(withField(aged, "health.reset_reason", this.#resetReason));
	}

	#send(message: object): void {
		const checked = checkUplink(JSON.parse(JSON.stringify(message)));
		assert.equal(checked.problem, undefined);
		if (checked.uplink && this.#session && this.isConnected)
			this.#gateway?.sessions.receive(this.#session, checked.uplink, Buffer.from(JSON.stringify(message)));
	}

	#execute(text: string): void {
		if (this.isDeaf) return;
		const { command, url, patch } = JSON.parse(text);
		assert.equal(command, "start_ota");
		const isPatchable = this.features.includes("delta") && this.version === oldVersion;
		assert.deepEqual([patch?.from, patch?.to], isPatchable ? [oldSha256, sha256] : [undefined, undefined]);
		this.patched.push(isPatchable);
		const [, sent = ""] = /firmware-v(.*)\.bin$/.exec(url) ?? [];
		assert.equal(this.isUpdating, false, `${this.id} was sent an update while it updates`);
		this.onSent(sent);
		this.sent.push(sent);
		const [first, later] = fates[this.fate];
		const outcome = this.offers === 1 ? first : later;
		if (this.offers <= this.rejections) {
			const [code, message] = ["busy", "the new firmware is not confirmed yet; try again in a minute"];
			return this.#send({ type: "command_error", deviceId: this.id, command, code, message });
		}
		this.isUpdating = true;
		const progress = (percent: number) =>
			this.#send({ type: "ota_progress", percent, bytes_written: percent, bytes_total: 100 });
		// Sequential, so that nothing pending is sent after the restart.
		this.#online(2_000, () => {
			progress(10);
			this.#online(2_000, () => {
				progress(60);
				if (outcome === "hangs") return this.leave();
				if (outcome === "restarts") return this.#restart(this.version, "BROWNOUT_RESET");
				if (outcome === "fails") {
					this.isUpdating = false;
					return this.#send({ type: "ota_error", reason: "The image is damaged." });
				}
				this.#online(4_000, () => {
					progress(100);
					this.#send({ type: "ota_complete" });
					const previous = this.version;
					this.#restart(sent, "SW_RESET");
					if (outcome === "goes back") this.#time.in(probationMs, () => this.#restart(previous, "SW_RESET"));
				});
			});
		});
	}

	/** Waits for the gateway during a download. */
	#online(ms: number, work: () => void): void {
		this.#time.in(ms, () => {
			if (this.isConnected) work();
			else this.#online(500, work);
		});
	}

	leave(): void {
		this.isOn = false;
		if (this.#session && this.#gateway?.isRunning) this.#gateway.sessions.end(this.#session, "disconnected");
	}

	#restart(version: string, reason: string): void {
		this.leave();
		this.version = version;
		this.#resetReason = reason;
		this.#time.in(bootMs, () => {
			this.isOn = true;
			this.isUpdating = false;
			this.#bootedAt = this.#time.now;
			const gateway = this.#gateway?.latest;
			if (gateway) this.connect(gateway);
		});
	}
}

interface GatewayOptions {
	readonly dataDir: string;
	readonly time: Timeline;
	readonly random: Random;
	/** Latest release of each channel, and the reason why none can be sent now. */
	readonly releases: { latest: string; rejection?: UpdateRejection | undefined };
	/** Counts disk steps; its errors end the gateway. */
	readonly onDisk: () => boolean;
	readonly problems: string[];
}

/** One run of the gateway, from its start to its end. */
export class SimulatedGateway {
	readonly sessions: Sessions;
	readonly updates: Updates;
	readonly rollouts: Rollouts;
	readonly store: RolloutStore;
	/** Frames to monitors, with their time. */
	readonly frames: { readonly counts: Counts; readonly version: string; readonly at: number }[] = [];
	isRunning = true;
	/** Next run. */
	next: SimulatedGateway | undefined;
	readonly #options: GatewayOptions;
	readonly #deviceStore: DeviceStore;
	readonly #openStore: () => Promise<void>;
	readonly #work: Promise<unknown>[] = [];

	constructor(options: GatewayOptions) {
		const { dataDir, time, random, onDisk, problems, releases } = options;
		this.#options = options;
		const clock = { now: () => startedAt + time.now + time.skewMs, monotonic: () => time.now };
		const disk: Disk = changingDisk(() => {
			if (this.isRunning && onDisk()) this.isRunning = false;
			if (!this.isRunning) throw systemError("EIO");
		});
		const onProblem = (problem: string) => {
			if (this.isRunning) problems.push(problem);
		};
		const settles: (() => Promise<void>)[] = [];
		const records: CreateRecords = ({ name, ...kind }) => {
			const made = fileRecords({ ...kind, directory: join(dataDir, name), disk });
			settles.push(() => made.settle());
			return made;
		};
		const jobs = records({ name: "updates", onProblem, ...jobsFile });
		this.settle = async () => {
			// A step may trigger the next.
			for (let length = -1; length !== this.#work.length; ) {
				length = this.#work.length;
				await Promise.all(this.#work);
				await Promise.all(settles.map((settle) => settle()));
			}
			this.#work.splice(0);
		};
		const events = new Events();
		this.sessions = new Sessions({ ...clock, events, maxDevices: 10_000 });
		const { sessions } = this;
		this.#deviceStore = new DeviceStore({
			records: (kind) => records({ ...kind, onProblem }),
			sessions,
			monotonic: clock.monotonic,
		});
		events.on(this.#deviceStore.listeners);
		const selection: Pick<Selection, "choose" | "pin"> = {
			choose: async ({ patchable }, version = newVersion) => {
				if (releases.rejection) return { rejection: releases.rejection };
				const patch = { path: `/releases/firmware-v${version}.patch`, from: oldSha256, to: sha256 };
				const path = `/releases/firmware-v${version}.bin`;
				return { path, version, sha256, ...(patchable === oldVersion && { patch }) };
			},
			pin: async ({ version = newVersion, channel }) => ({
				...(channel === undefined ? { version } : { version: releases.latest, channel }),
				source: "release",
				images: [{ model: "DEV-1", chip: "esp32s3", sha256 }],
			}),
		};
		this.updates = new Updates({
			selection,
			records: jobs,
			...clock,
			upload: () => undefined,
			saveDevice: (device) => this.#deviceStore.save(device),
			setOta: (device, metadata) => this.sessions.setOta(device, metadata),
			onEnded: () => {},
		});
		events.on(this.updates.listeners);
		const store = new RolloutStore({ onProblem });
		this.store = store;
		this.#openStore = () =>
			store.open(new FileLog({ directory: join(dataDir, "rollouts"), disk, onProblem }));
		this.rollouts = new Rollouts({
			store,
			isShared: false,
			selection,
			updates: {
				trigger: (...parameters) => {
					const begun = this.updates.trigger(...parameters);
					this.#work.push(begun);
					return begun;
				},
				historyOf: (deviceId) => this.updates.historyOf(deviceId),
			},
			devices: this.sessions.devices,
			...clock,
			yieldToLoop: () => Promise.resolve(),
			storage: { place: "the gateway's disk", status: 507 },
			random: () => random.next(),
			announce: (frame) => void this.frames.push({ ...frame, at: time.now }),
			log: { info: () => {}, error: (problem: unknown) => void problems.push(JSON.stringify(problem)) },
		});
	}

	/** Resolves once all started writes are complete. */
	readonly settle: () => Promise<void>;

	get latest(): SimulatedGateway {
		return this.next?.latest ?? this;
	}

	/** Same order as in gateway.ts. */
	async open(): Promise<void> {
		await this.updates.open();
		this.sessions.restore(await this.#deviceStore.open());
		for (const device of this.sessions.devices.values()) this.updates.onConnected(device);
		await this.#openStore();
		await this.rollouts.open();
	}

	/** Advances the time. */
	async pass(ms: number): Promise<void> {
		this.#options.time.pass(ms);
		await this.settle();
		await this.rollouts.advance();
		await this.settle();
		if (this.#options.time.now % 2000 === 0) this.updates.expire();
	}
}
