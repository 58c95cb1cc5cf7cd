import assert from "node:assert/strict";
import fs, { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Feature } from "../../../device/protocol/messages.js";
import type { OtaMetadata } from "../../../gateway/api/update.js";
import type { UpdateRejection } from "../../../gateway/firmware/rejections.js";
import type { Choice } from "../../../gateway/firmware/selection.js";
import { jobsFile } from "../../../gateway/firmware/update-job.js";
import { Updates } from "../../../gateway/firmware/updates.js";
import { Device, Session } from "../../../gateway/sessions/device.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import { progress, report, uplink } from "./uplinks.js";

const complete = uplink({ type: "ota_complete" });
const minute = 60_000;
const cancelation = JSON.stringify({ command: "cancel_ota" });

/** Image selection, controlled by the test. */
interface Shelf {
	choice: Choice | { rejection: UpdateRejection };
	/** Served upload. */
	upload?: { sha256: string; version: string };
	/** Version of the last device, if it supports patches. */
	patchable?: string | null | undefined;
	/** Called during image selection. */
	onChoose?: () => void | Promise<void>;
}

interface RunOptions {
	readonly directory?: string;
	readonly disk?: Disk;
	readonly certPem?: string;
	readonly at?: number;
	readonly saveDevice?: () => Promise<boolean>;
}

async function run(t: TestContext, { disk = fs, certPem, at = 1_000_000, ...options }: RunOptions = {}) {
	const directory = options.directory ?? (await temporaryDirectory(t));
	const shelf: Shelf = { choice: { path: "/releases/firmware-v1.4.0.bin", version: "1.4.0", sha256: "a" } };
	const clock = {
		now: at,
		monotonic: 0,
		pass: (milliseconds: number) => {
			clock.now += milliseconds;
			clock.monotonic += milliseconds;
		},
	};
	const changes: OtaMetadata[] = [];
	const problems: string[] = [];
	const updates = new Updates({
		selection: {
			choose: async (device) => {
				shelf.patchable = device.patchable;
				await shelf.onChoose?.();
				return shelf.choice;
			},
		},
		records: fileRecords({
			directory,
			disk,
			onProblem: (problem) => void problems.push(problem),
			...jobsFile,
		}),
		now: () => clock.now,
		monotonic: () => clock.monotonic,
		setOta: (device, metadata) => {
			device.metadata = metadata;
			changes.push(metadata);
		},
		onEnded: () => {},
		upload: () => shelf.upload,
		saveDevice: options.saveDevice ?? (async () => true),
		certPemFor: () => certPem,
	});
	await updates.open();
	onEnd(t, () => updates.close());
	return { directory, updates, shelf, clock, changes, problems };
}

/** Connected device that runs 1.3.0. */
function connect(
	sent: string[] = [],
	deviceId = "dev-1-a1b2c3",
	baseUrl = "http://gateway.lan:8080",
	features: readonly Feature[] = [],
): Device {
	const handshake = {
		deviceId,
		isBound: false,
		features,
		model: "DEV-1",
		chip: "virtual",
		remoteAddress: "10.0.0.2",
		baseUrl,
	} as const;
	const link = { send: (text: string) => void sent.push(text), isOpen: () => true, close: () => {} };
	const device = new Device(deviceId, new Session(handshake, link, 0));
	device.firmwareVersion = "1.3.0";
	return device;
}

/** Reconnects the same device. */
function reconnect(device: Device): Device {
	device.session = connect().session;
	return device;
}

describe("trigger_ota", () => {
	test("sends the image URL under the base URL of the connection, and the certificate only with https", async (t) => {
		const { updates } = await run(t, { certPem: "PEM" });
		const sent: string[] = [];
		await updates.trigger(connect(sent, "dev-1-000001", "https://gateway.lan"), "latest");
		await updates.trigger(connect(sent, "dev-1-000002"), "latest");
		const path = "/releases/firmware-v1.4.0.bin";
		assert.deepEqual(
			sent.map((text) => JSON.parse(text)),
			[
				{ command: "start_ota", url: `https://gateway.lan${path}`, cert_pem: "PEM" },
				{ command: "start_ota", url: `http://gateway.lan:8080${path}` },
			],
		);
	});
	test("sends the patch under the same base URL, unless its URL is too long", async (t) => {
		const { updates, shelf } = await run(t);
		const [from, to] = ["1".repeat(64), "2".repeat(64)];
		const path = "/releases/firmware-v1.4.0.from-v1.3.0.patch";
		assert.ok(!shelf.choice.rejection, `refused: ${shelf.choice.rejection}`);
		shelf.choice = { ...shelf.choice, patch: { path, from, to } };
		const longest = `http://${"g".repeat(512 - "http://".length - path.length)}`;
		const sent: string[] = [];
		for (const [index, baseUrl] of ["http://gateway.lan:8080", longest, `${longest}g`].entries())
			await updates.trigger(connect(sent, `dev-1-00000${index}`, baseUrl), "latest");
		assert.deepEqual(
			sent.map((text) => JSON.parse(text).patch),
			[{ url: `http://gateway.lan:8080${path}`, from, to }, { url: longest + path, from, to }, undefined],
		);
		assert.equal(JSON.parse(sent[2] ?? "").url, `${longest}g/releases/firmware-v1.4.0.bin`);
	});
	test("is sent only after the update and its device are stored", async (t) => {
		const writing: (() => void)[] = [];
		const rename: Disk["rename"] = async (from, to) => {
			await new Promise<void>((resolve) => writing.push(resolve));
			await fs.rename(from, to);
		};
		let keep = (_isKept: boolean) => {};
		const kept = new Promise<boolean>((resolve) => {
			keep = resolve;
		});
		const { updates, changes } = await run(t, { disk: { ...fs, rename }, saveDevice: () => kept });
		const sent: string[] = [];
		const answer = updates.trigger(connect(sent), "latest");
		await waitUntil(() => writing.length > 0);
		assert.deepEqual([sent, changes], [[], []], "sent before the update is on disk");
		writing[0]?.();
		await new Promise((resolve) => setTimeout(resolve, 50));
		assert.deepEqual([sent, changes], [[], []], "sent before its device is on disk");
		keep(true);
		assert.equal(await answer, undefined);
		assert.deepEqual([sent.length, changes.length], [1, 1]);
	});
	test("is rejected if it or its device cannot be written, and may be retried", async (t) => {
		let isFull = true;
		const rename: Disk["rename"] = (from, to) => (isFull ? Promise.reject(full()) : fs.rename(from, to));
		let isDeviceKept = true;
		const saveDevice = async () => isDeviceKept;
		const { updates, changes, directory } = await run(t, { disk: { ...fs, rename }, saveDevice });
		const sent: string[] = [];
		const device = connect(sent);
		const code = async () => (await updates.trigger(device, "latest"))?.code;
		assert.equal(await code(), "storage_failed");
		[isFull, isDeviceKept] = [false, false];
		assert.equal(await code(), "storage_failed");
		assert.deepEqual([sent, changes, updates.historyOf(device.deviceId)], [[], [], []]);
		isDeviceKept = true;
		assert.equal(await code(), undefined);
		assert.equal(sent.length, 1);
		assert.deepEqual(await readdir(directory), ["dev-1-a1b2c3.json"]);
	});
	test("keeps reports that arrive during the write", async (t) => {
		let onRename = () => {};
		const rename: Disk["rename"] = async (from, to) => {
			await fs.rename(from, to);
			onRename();
		};
		const { updates, directory } = await run(t, { disk: { ...fs, rename } });
		const device = connect();
		onRename = () => {
			onRename = () => {};
			updates.onUplink(device, uplink({ type: "ota_error", reason: "forwarded" }));
		};
		assert.equal(await updates.trigger(device, "latest"), undefined);
		const content = JSON.parse(await readFile(join(directory, "dev-1-a1b2c3.json"), "utf8"));
		for (const jobs of [content.jobs, updates.historyOf(device.deviceId)])
			assert.deepEqual(
				jobs.map(({ status }: { status: string }) => status),
				["failed", "pending"],
			);
	});
	test("is rejected during an update, and accepted after", async (t) => {
		const { updates } = await run(t);
		const device = connect();
		const code = async () => (await updates.trigger(device, "latest"))?.code;
		assert.deepEqual(await Promise.all([code(), code()]), [undefined, "ota_in_progress"]);
		for (const step of [progress(1), complete]) {
			updates.onUplink(device, step);
			assert.equal(await code(), "ota_in_progress");
		}
		updates.onUplink(device, uplink({ type: "ota_error", reason: "flash" }));
		assert.equal(await code(), undefined);
		assert.deepEqual(
			updates.historyOf(device.deviceId).map(({ status }) => status),
			["failed", "pending"],
		);
	});
	test("is rejected without an image or a connection, uses the newest connection, and may be retried after an error", async (t) => {
		const { updates, shelf, changes } = await run(t);
		const [sent, later]: [string[], string[]] = [[], []];
		const device = connect(sent);
		const { choice } = shelf;
		const rejection = { code: "unknown_version", message: "There is no such release." } as const;
		shelf.choice = { rejection };
		assert.deepEqual(await updates.trigger(device, "9.9.9"), rejection);
		shelf.choice = choice;
		shelf.onChoose = () => {
			device.session.connected = false;
		};
		assert.equal((await updates.trigger(device, "latest"))?.code, "target_offline");
		shelf.onChoose = () => Promise.reject(new Error("EIO"));
		await assert.rejects(updates.trigger(device, "latest"), /EIO/);
		assert.deepEqual([sent, changes, updates.historyOf(device.deviceId)], [[], [], []]);
		shelf.onChoose = () => {
			device.session = connect(later).session;
		};
		assert.equal(await updates.trigger(device, "latest"), undefined);
		assert.deepEqual([sent.length, later.length], [0, 1]);
	});
});

describe("monitor notification", () => {
	test("is sent once per change, in order, up to the new version", async (t) => {
		const { updates, changes } = await run(t);
		const device = connect();
		await updates.trigger(device, "latest");
		for (const step of [report("1.3.0", 99), progress(0), progress(50), progress(50), report("1.3.0", 99)])
			updates.onUplink(device, step);
		for (const step of [progress(100), complete, complete, report("1.3.0", 99)])
			updates.onUplink(device, step);
		updates.onConnected(reconnect(device));
		updates.onUplink(device, report("1.4.0"));
		updates.onUplink(device, report("1.4.0"));
		const steps = changes.map(({ otaStatus, otaPercent }) => `${otaStatus} ${otaPercent}`);
		assert.deepEqual(steps, [
			"pending null",
			"downloading 0",
			"downloading 50",
			"downloading 100",
			"rebooting 100",
			"updated 100",
		]);
		assert.deepEqual(
			changes.filter(({ otaVersion, otaReason }) => otaVersion !== "1.4.0" || otaReason !== null),
			[],
		);
	});
	test("covers an update by a forwarded start_ota", async (t) => {
		const { updates, changes } = await run(t);
		const device = connect();
		for (const step of [report("1.3.0", 9), progress(10), complete]) updates.onUplink(device, step);
		updates.onUplink(reconnect(device), report("1.5.0"));
		const steps = changes.map(({ otaStatus, otaVersion }) => `${otaStatus} ${otaVersion}`);
		assert.deepEqual(steps, ["downloading null", "rebooting null", "updated 1.5.0"]);
	});
});

describe("update timeout", () => {
	test("expires after five minutes, extended by update messages but not by reports", async (t) => {
		const { updates, clock } = await run(t);
		const device = connect();
		await updates.trigger(device, "latest");
		const passes = (milliseconds: number) => {
			clock.pass(milliseconds);
			// Changes of the wall clock have no effect.
			clock.now = -clock.now;
			updates.onUplink(device, report("1.3.0", 9999));
			updates.expire();
			return device.metadata.otaStatus;
		};
		assert.equal(passes(5 * minute - 1), "pending");
		updates.onUplink(device, progress(10));
		assert.equal(passes(5 * minute - 1), "downloading");
		updates.onUplink(device, progress(10));
		assert.equal(passes(5 * minute - 1), "downloading", "timeout not extended by an equal percentage");
		assert.equal(passes(1), "failed");
		assert.match(String(device.metadata.otaReason), /stalled at 10 %/);
		updates.onUplink(device, progress(11));
		assert.equal(device.metadata.otaStatus, "downloading");
	});
	test("is not written, unlike progress", async (t) => {
		let writes = 0;
		const open: Disk["open"] = (path, flags, mode) => {
			if (flags === "wx") writes += 1;
			return fs.open(path, flags, mode);
		};
		const { updates, clock } = await run(t, { disk: { ...fs, open } });
		const device = connect();
		await updates.trigger(device, "latest");
		const look = async () => {
			clock.pass(2000);
			updates.expire();
			// Writes are sequential: once this one is on disk, all earlier ones are.
			await updates.trigger(connect([], "dev-1-000009"), "latest");
			await updates.forget("dev-1-000009");
			const written = writes - 1;
			writes = 0;
			return written;
		};
		await look();
		updates.onUplink(device, progress(10));
		assert.equal(await look(), 1);
		await look();
		assert.equal(await look(), 0);
		updates.onUplink(device, progress(20));
		assert.equal(await look(), 1);
	});
	test("cancels the update on the device, if its firmware supports that", async (t) => {
		for (const features of [["cancel"], []] as const) {
			const { updates, clock } = await run(t);
			const sent: string[] = [];
			const device = connect(sent, undefined, undefined, features);
			await updates.trigger(device, "latest");
			clock.pass(5 * minute);
			updates.expire();
			updates.expire();
			assert.deepEqual(sent.slice(1), features.length > 0 ? [cancelation] : []);
			updates.onUplink(device, progress(40));
			assert.equal(device.metadata.otaStatus, features.length > 0 ? "failed" : "downloading");
			updates.onUplink(device, uplink({ type: "ota_error", reason: "The update was canceled." }));
			assert.equal(device.metadata.otaStatus, "failed");
			updates.onUplink(device, complete);
			assert.equal(device.metadata.otaStatus, "rebooting", "completed nevertheless");
		}
	});
	test("cancels the update of an absent device once it returns and continues it", async (t) => {
		const { updates, clock } = await run(t);
		const device = connect([], undefined, undefined, ["cancel"]);
		await updates.trigger(device, "latest");
		device.session.connected = false;
		clock.pass(5 * minute);
		updates.expire();
		const sent: string[] = [];
		device.session = connect(sent, undefined, undefined, ["cancel"]).session;
		updates.onUplink(device, report("1.3.0", 900));
		assert.deepEqual(sent, [], "it may have ended the update itself");
		for (const percent of [40, 41]) updates.onUplink(device, progress(percent));
		assert.deepEqual(sent, [cancelation]);
		assert.equal(device.metadata.otaStatus, "failed");
		updates.onUplink(device, uplink({ type: "ota_error", reason: "The update was canceled." }));
		assert.match(String(device.metadata.otaReason), /no message for 5 minutes\. The update was canceled\.$/);
	});
});

describe("a restart of the gateway", () => {
	/** Runs, stops, and restarts an hour later. */
	async function restart(t: TestContext, steps: readonly Parameters<Updates["onUplink"]>[1][]) {
		const first = await run(t);
		const device = connect();
		await first.updates.trigger(device, "latest");
		for (const step of steps) first.updates.onUplink(device, step);
		await first.updates.close();
		const second = await run(t, { directory: first.directory, at: 1_000_000 + 60 * minute });
		const returned = connect();
		second.updates.onConnected(returned);
		return { ...second, device: returned };
	}

	test("continues a download in progress", async (t) => {
		const { updates, device } = await restart(t, [progress(10), progress(43)]);
		assert.deepEqual([device.metadata.otaStatus, device.metadata.otaPercent], ["downloading", 43]);
		assert.equal((await updates.trigger(device, "latest"))?.code, "ota_in_progress");
		updates.onUplink(device, report("1.3.0", 99_999));
		updates.onUplink(device, progress(42));
		assert.equal(device.metadata.otaPercent, 43);
		updates.onUplink(device, complete);
		updates.onUplink(reconnect(device), report("1.4.0"));
		assert.equal(device.metadata.otaStatus, "updated");
	});
	test("gives a device five more minutes", async (t) => {
		const { updates, device, clock } = await restart(t, [progress(10)]);
		clock.pass(5 * minute - 1);
		updates.expire();
		assert.equal(device.metadata.otaStatus, "downloading");
		clock.pass(1);
		updates.expire();
		assert.equal(device.metadata.otaStatus, "failed");
	});
});

describe("update records", () => {
	test("contain the last ten updates of a device with their reasons", async (t) => {
		const { updates, directory } = await run(t);
		const device = connect();
		for (let round = 0; round < 12; round++) {
			await updates.trigger(device, "latest");
			updates.onUplink(device, uplink({ type: "ota_error", reason: `no ${round}` }));
		}
		await updates.close();
		const again = await run(t, { directory });
		const reasons = again.updates.historyOf(device.deviceId).map(({ reason }) => reason);
		assert.deepEqual(
			reasons,
			Array.from({ length: 10 }, (_, index) => `no ${index + 2}`),
		);
	});
	test("are reported if damaged, losing only that device's history", async (t) => {
		const first = await run(t);
		await first.updates.trigger(connect(), "latest");
		await first.updates.trigger(connect([], "dev-1-other"), "latest");
		await first.updates.close();
		await writeFile(join(first.directory, "dev-1-other.json"), '{"jobs":[{"status":"strange"}]}');
		await writeFile(join(first.directory, "dev-1-third.json.123.tmp"), "half");
		const { updates, problems, directory } = await run(t, { directory: first.directory });
		assert.match(String(problems), /dev-1-other\.json is damaged/);
		assert.deepEqual(updates.historyOf("dev-1-other"), []);
		assert.equal(updates.historyOf("dev-1-a1b2c3").length, 1);
		assert.equal(
			(await readdir(directory)).some((name) => name.endsWith(".tmp")),
			false,
		);
		assert.equal(await updates.trigger(connect([], "dev-1-other"), "latest"), undefined);
	});
	test("are reported, also by readiness, if they cannot be written", async (t) => {
		let isFull = false;
		const rename: Disk["rename"] = (from, to) => (isFull ? Promise.reject(full()) : fs.rename(from, to));
		const { updates, problems } = await run(t, { disk: { ...fs, rename } });
		const device = connect();
		await updates.trigger(device, "latest");
		isFull = true;
		updates.onUplink(device, complete);
		await waitUntil(() => problems.length > 0);
		assert.match(String(problems), /Storing the updates of dev-1-a1b2c3 failed \(ENOSPC\)/);
		assert.match(String(updates.readinessProblem), /cannot be written \(ENOSPC\)/);
		isFull = false;
	});
});

describe("clock change during an update", () => {
	const hour = 60 * minute;
	for (const step of [hour, -hour])
		test(`by ${step / hour} hour distinguishes a lost connection from a restart, and a rollback from a version flashed long after`, async (t) => {
			const { updates, clock } = await run(t);
			const device = connect();
			await updates.trigger(device, "latest");
			updates.onUplink(device, progress(40));
			clock.now += step;
			clock.pass(10_000);
			updates.onUplink(reconnect(device), report("1.3.0", 600));
			assert.equal(device.metadata.otaStatus, "downloading");
			updates.onUplink(reconnect(device), report("1.3.0", 4));
			assert.match(String(device.metadata.otaReason), /restarted during the update/);
			for (const [passed, expected] of [
				[minute, "rolled_back"],
				[6 * minute, "updated"],
			] as const) {
				const { updates, clock } = await run(t);
				const device = connect();
				await updates.trigger(device, "latest");
				updates.onUplink(device, complete);
				updates.onUplink(reconnect(device), report("1.4.0", 3));
				clock.now += step;
				clock.pass(passed);
				updates.onUplink(reconnect(device), report("1.3.0", 3));
				assert.equal(device.metadata.otaStatus, expected);
			}
		});
	test("with a gateway restart detects device restarts by uptime, or by the age of the update if unknown", async (t) => {
		for (const [uptimeSeconds, at, uptime] of [
			// The clock was slow at the start of the update, and is correct again.
			[600, hour, 620],
			[undefined, 20_000, 60],
		] as const) {
			const first = await run(t);
			const begun = Object.assign(connect(), { uptimeSeconds });
			await first.updates.trigger(begun, "latest");
			first.updates.onUplink(begun, progress(40));
			await first.updates.close();
			const second = await run(t, { directory: first.directory, at: 1_000_000 + at });
			const device = connect();
			second.updates.onConnected(device);
			second.clock.now += hour;
			second.updates.onUplink(reconnect(device), report("1.3.0", uptime));
			assert.equal(device.metadata.otaStatus, "downloading");
			second.updates.onUplink(reconnect(device), report("1.3.0", 5));
			assert.match(String(device.metadata.otaReason), /restarted during the update/);
		}
	});
});

test("names an upload that replaced the requested one, unless the device runs the requested one", async (t) => {
	const note = "The upload was replaced by 1.5.0 after this update was requested.";
	const rejected = uplink({ type: "ota_error", reason: "The image is for PROTO-1." });
	for (const [answer, status, reason] of [
		[
			report("1.5.0"),
			"failed",
			`The device reconnected with 1.5.0, which this gateway did not send. ${note}`,
		],
		[rejected, "failed", `The image is for PROTO-1. ${note}`],
		[report("1.4.0"), "updated", null],
	] as const) {
		const { updates, shelf } = await run(t);
		shelf.choice = { path: "/ota/firmware.bin", version: "1.4.0", sha256: "a", upload: "a" };
		shelf.upload = { sha256: "a", version: "1.4.0" };
		const device = connect();
		await updates.trigger(device, "custom");
		shelf.upload = { sha256: "b", version: "1.5.0" };
		if (answer !== rejected) updates.onUplink(device, complete);
		updates.onUplink(answer === rejected ? device : reconnect(device), answer);
		assert.deepEqual([device.metadata.otaStatus, device.metadata.otaReason], [status, reason]);
	}
});

describe("update requested during the probation of the previous one", () => {
	const busy = uplink({
		type: "command_error",
		deviceId: "dev-1-a1b2c3",
		command: "start_ota",
		code: "busy",
		message: "the firmware is not confirmed yet",
	});
	async function onProbation(t: TestContext, version = "1.5.0") {
		const running = await run(t);
		const { updates, shelf } = running;
		const device = connect();
		await updates.trigger(device, "latest");
		updates.onUplink(device, complete);
		device.firmwareVersion = "1.4.0";
		updates.onUplink(reconnect(device), report("1.4.0", 3));
		shelf.choice = { path: "/releases/x.bin", version, sha256: "a" };
		await updates.trigger(device, version);
		const fallBack = () => {
			device.firmwareVersion = "1.3.0";
			updates.onUplink(reconnect(device), report("1.3.0", 3, "TASK_WDT_RESET"));
		};
		const jobs = () =>
			updates.historyOf(device.deviceId).map(({ version, status }) => `${version} ${status}`);
		return { ...running, device, fallBack, jobs };
	}

	test("is rejected, and a later rollback is reported", async (t) => {
		const { updates, device, fallBack, jobs } = await onProbation(t);
		updates.onUplink(device, busy);
		assert.match(String(device.metadata.otaReason), /rejected the update \(busy\)/);
		fallBack();
		assert.deepEqual(jobs(), ["1.5.0 failed", "1.4.0 rolled_back"]);
		assert.deepEqual([device.metadata.otaStatus, device.metadata.otaVersion], ["rolled_back", "1.4.0"]);
		assert.match(
			String(device.metadata.otaReason),
			/reverted to 1\.3\.0; the new firmware ended: hung \(watchdog\)/,
		);
	});
	test("ends with the previous one at a rollback if unanswered", async (t) => {
		const { fallBack, jobs, updates, device } = await onProbation(t);
		fallBack();
		assert.deepEqual(jobs(), ["1.5.0 failed", "1.4.0 rolled_back"]);
		assert.match(
			String(updates.historyOf(device.deviceId)[0]?.reason),
			/reverted .+ before this update started/,
		);
	});
	test("determines its result by the version after the restart", async (t) => {
		const { updates, device, fallBack, jobs } = await onProbation(t, "1.3.0");
		updates.onUplink(device, progress(100));
		updates.onUplink(device, complete);
		fallBack();
		assert.deepEqual(jobs(), ["1.4.0 updated", "1.3.0 updated"]);
	});
});

test("does not resume a rejected update after a restart, even if still on disk", async (t) => {
	const rm: Disk["rm"] = async () => Promise.reject(Object.assign(new Error("EROFS"), { code: "EROFS" }));
	const { updates, directory } = await run(t, { disk: { ...fs, rm }, saveDevice: async () => false });
	const { deviceId } = connect();
	assert.equal((await updates.trigger(connect(), "latest"))?.code, "storage_failed");
	await updates.close();
	const restarted = await run(t, { directory });
	assert.deepEqual(restarted.updates.historyOf(deviceId), []);
});

describe("forgotten device", () => {
	test("is not rewritten by an update that starts meanwhile", async (t) => {
		const device = connect();
		let isGone: Promise<boolean> | undefined;
		let isRemoved = false;
		const saveDevice = async () => {
			device.session.connected = false;
			isGone = updates.forget(device.deviceId);
			// Long enough for the removal, unless it waits.
			for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
			isRemoved = (await readdir(directory)).length === 0;
			return true;
		};
		const { updates, directory } = await run(t, { saveDevice });
		updates.onUplink(device, progress(10));
		updates.onUplink(device, uplink({ type: "ota_error", reason: "no" }));
		assert.equal((await updates.trigger(device, "latest"))?.code, "target_offline");
		assert.equal(isRemoved, false);
		assert.equal(await isGone, true);
		assert.deepEqual([await readdir(directory), updates.historyOf(device.deviceId)], [[], []]);
	});

	test("is not rewritten by update progress", async (t) => {
		let release = () => {};
		const held = new Promise<void>((resolve) => {
			release = resolve;
		});
		let isRemoving = false;
		const rm: Disk["rm"] = async (...parameters) => {
			isRemoving = true;
			await held;
			return fs.rm(...parameters);
		};
		const { updates, directory } = await run(t, { disk: { ...fs, rm } });
		const device = connect();
		updates.onUplink(device, progress(10));
		const isGone = updates.forget(device.deviceId);
		await waitUntil(() => isRemoving);
		updates.expire();
		release();
		assert.equal(await isGone, true);
		await updates.close();
		assert.deepEqual(await readdir(directory), []);
	});

	test("is kept with its updates if its files cannot be removed", async (t) => {
		const rm: Disk["rm"] = async () => Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" }));
		const { updates, directory } = await run(t, { disk: { ...fs, rm } });
		const device = connect();
		updates.onUplink(device, progress(10));
		assert.equal(await updates.forget(device.deviceId), false);
		await updates.close();
		assert.deepEqual(
			[updates.historyOf(device.deviceId).length, await readdir(directory)],
			[1, ["dev-1-a1b2c3.json"]],
		);
	});
});

function full(): Error {
	return Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
}

test("times out an update at the device's process, or here if that is down", async (t) => {
	const { updates, clock } = await run(t);
	let isUp = true;
	const { deviceId, session } = connect();
	const link = { isRemote: true, send: () => {}, isOpen: () => isUp, close: () => {} };
	const device = new Device(deviceId, new Session(session.handshake, link, 0));
	updates.applyRecord(deviceId, [{ status: "downloading", percent: 7, startedAt: clock.now }], device);
	// The other process determines its state.
	assert.equal(device.metadata.otaStatus, "idle");
	clock.pass(6 * minute);
	updates.expire();
	assert.equal(updates.historyOf(deviceId)[0]?.status, "downloading");
	isUp = false;
	updates.expire();
	assert.equal(device.metadata.otaStatus, "failed");
	updates.applyRecord(deviceId, undefined, device);
	assert.deepEqual(updates.historyOf(deviceId), []);
});
