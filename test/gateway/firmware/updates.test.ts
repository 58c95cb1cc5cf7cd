import assert from "node:assert/strict";
import fs, { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Feature } from "../../../device/protocol/messages.js";
import type { OtaMetadata } from "../../../gateway/api/update.js";
import type { UpdateRejection } from "../../../gateway/firmware/rejections.js";
import type { Choice, DeviceFit } from "../../../gateway/firmware/selection.js";
import { jobsFile, type UpdateJob } from "../../../gateway/firmware/update-job.js";
import { Updates } from "../../../gateway/firmware/updates.js";
import { Device, Session } from "../../../gateway/sessions/device.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { fileRecords } from "../../../gateway/storage/file-records.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { diskWith, failingDisk } from "../../support/disk.js";
import { deferred, waitUntil } from "../../support/eventually.js";
import { makeHandshake, silentLink } from "../../support/record-stubs.js";
import { complete, failure, progress, report, uplink } from "./uplinks.js";

const deviceId = "dev-1-a1b2c3";
const minute = 60_000;
const cancelation = JSON.stringify({ command: "cancel_ota" });
const release = { path: "/releases/firmware-v1.4.0.bin", version: "1.4.0", sha256: "a" };

/** Image selection, controlled by the test. */
interface Shelf {
	choice: Choice | { rejection: UpdateRejection };
	/** Served upload. */
	upload?: { sha256: string; version: string };
	/** Called during image selection. */
	onChoose?: () => void | Promise<void>;
	/** Version that each device can patch. */
	readonly patchable: DeviceFit["patchable"][];
}

interface RunOptions {
	readonly directory?: string;
	readonly disk?: Disk;
	readonly certPem?: string;
	readonly at?: number;
	readonly saveDevice?: () => Promise<boolean>;
}

async function run(t: TestContext, { disk = fs, certPem, at = 1_000_000, ...options }: RunOptions = {}) {
	const { directory = await temporaryDirectory(t), saveDevice = async () => true } = options;
	const shelf: Shelf = { choice: release, patchable: [] };
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
	const onProblem = (problem: string) => void problems.push(problem);
	const records = fileRecords({ directory, disk, onProblem, ...jobsFile });
	const updates = new Updates({
		selection: {
			choose: async ({ patchable }) => {
				shelf.patchable.push(patchable);
				await shelf.onChoose?.();
				return shelf.choice;
			},
		},
		records,
		now: () => clock.now,
		monotonic: () => clock.monotonic,
		setOta: (device, metadata) => {
			device.metadata = metadata;
			changes.push(metadata);
		},
		onEnded: () => {},
		upload: () => shelf.upload,
		saveDevice,
		certPemFor: () => certPem,
	});
	await updates.open();
	const close = async () => {
		updates.close();
		await records.close();
	};
	onEnd(t, close);
	const history = () => updates.historyOf(deviceId).map(statusOf);
	return { directory, updates, records, close, shelf, clock, changes, problems, history };
}

const statusOf = ({ status }: Pick<UpdateJob, "status">) => status;

interface Connecting {
	/** Receives commands. */
	readonly sent?: string[];
	readonly id?: string;
	readonly baseUrl?: string;
	readonly features?: readonly Feature[];
}

/** Connected device that runs 1.3.0. */
function connect({ sent = [], id = deviceId, baseUrl = "", features = [] }: Connecting = {}): Device {
	const link = { ...silentLink, send: (text: string) => void sent.push(text) };
	const device = new Device(id, new Session({ ...makeHandshake(id), baseUrl, features }, link, 0));
	device.firmwareVersion = "1.3.0";
	return device;
}

/** Reconnects the same device. */
function reconnect(device: Device): Device {
	device.session = connect().session;
	return device;
}

describe("trigger_ota", () => {
	test("sends URLs under the base URL of the connection, unless too long, and the certificate only with https", async (t) => {
		const { updates, shelf } = await run(t, { certPem: "PEM" });
		const [from, to] = ["1".repeat(64), "2".repeat(64)];
		const path = "/releases/firmware-v1.4.0.from-v1.3.0.patch";
		shelf.choice = { ...release, patch: { path, from, to } };
		const longest = `http://${"g".repeat(512 - "http://".length - path.length)}`;
		const sent: string[] = [];
		for (const [index, baseUrl] of ["https://a.lan", longest, `${longest}g`].entries()) {
			const features = index === 0 ? [] : (["delta"] as const);
			await updates.trigger(connect({ sent, id: `dev-1-00000${index}`, baseUrl, features }), "latest");
		}
		assert.deepEqual(shelf.patchable, [null, "1.3.0", "1.3.0"]);
		const command = "start_ota";
		const commands = sent.map((text) => JSON.parse(text));
		assert.deepEqual(commands, [
			{
				command,
				url: "https://a.lan/releases/firmware-v1.4.0.bin",
				cert_pem: "PEM",
				patch: { url: `https://a.lan${path}`, from, to },
			},
			{ command, url: longest + release.path, patch: { url: longest + path, from, to } },
			{ command, url: `${longest}g${release.path}` },
		]);
	});
	test("is sent only after the update and its device are stored", async (t) => {
		const [written, kept] = [deferred(), deferred<boolean>()];
		let isWriting = false;
		const disk = diskWith((operation) => {
			if (operation !== "rename") return;
			isWriting = true;
			return written.promise;
		});
		const { updates, changes } = await run(t, { disk, saveDevice: () => kept.promise });
		const sent: string[] = [];
		const answer = updates.trigger(connect({ sent }), "latest");
		await waitUntil(() => isWriting);
		assert.deepEqual([sent, changes], [[], []], "sent before the update is on disk");
		written.resolve();
		await new Promise((resolve) => setTimeout(resolve, 50));
		assert.deepEqual([sent, changes], [[], []], "sent before its device is on disk");
		kept.resolve(true);
		assert.equal(await answer, undefined);
		assert.deepEqual([sent.length, changes.length], [1, 1]);
	});
	test("is rejected if it or its device cannot be written, and may be retried; later failures concern readiness", async (t) => {
		const full = failingDisk("rename", "ENOSPC");
		let isDeviceKept = true;
		const saveDevice = async () => isDeviceKept;
		const options = { disk: full.disk, saveDevice };
		const { updates, records, changes, directory, history, problems } = await run(t, options);
		const sent: string[] = [];
		const device = connect({ sent });
		const code = async () => (await updates.trigger(device, "latest"))?.code;
		assert.equal(await code(), "storage_failed");
		[full.isFailing, isDeviceKept] = [false, false];
		assert.equal(await code(), "storage_failed");
		assert.deepEqual([sent, changes, history()], [[], [], []]);
		isDeviceKept = true;
		assert.equal(await code(), undefined);
		assert.equal(sent.length, 1);
		assert.deepEqual(await readdir(directory), ["dev-1-a1b2c3.json"]);
		full.isFailing = true;
		updates.onUplink(device, complete);
		await waitUntil(() => records.readinessProblem !== undefined);
		assert.match(String(records.readinessProblem), /cannot be written \(ENOSPC\)/);
		assert.match(String(problems), /Storing the updates of dev-1-a1b2c3 failed \(ENOSPC\)/);
		full.isFailing = false;
	});
	test("keeps reports that arrive during the write", async (t) => {
		const device = connect();
		const reports = [failure("forwarded")];
		const disk = diskWith((operation) => {
			if (operation === "rename") for (const message of reports.splice(0)) updates.onUplink(device, message);
		});
		const { updates, directory, history } = await run(t, { disk });
		assert.equal(await updates.trigger(device, "latest"), undefined);
		const { jobs } = JSON.parse(await readFile(join(directory, "dev-1-a1b2c3.json"), "utf8"));
		assert.deepEqual([jobs.map(statusOf), history()], Array(2).fill(["failed", "pending"]));
	});
	test("is rejected during an update, and accepted after", async (t) => {
		const { updates, history } = await run(t);
		const device = connect();
		const code = async () => (await updates.trigger(device, "latest"))?.code;
		assert.deepEqual(await Promise.all([code(), code()]), [undefined, "ota_in_progress"]);
		for (const step of [progress(1), complete]) {
			updates.onUplink(device, step);
			assert.equal(await code(), "ota_in_progress");
		}
		updates.onUplink(device, failure("flash"));
		assert.equal(await code(), undefined);
		assert.deepEqual(history(), ["failed", "pending"]);
	});
	test("is rejected without an image or a connection, uses the newest connection, and may be retried after an error", async (t) => {
		const { updates, shelf, changes, history } = await run(t);
		const [sent, later]: [string[], string[]] = [[], []];
		const device = connect({ sent });
		const rejection = { code: "unknown_version", message: "There is no such release." } as const;
		shelf.choice = { rejection };
		assert.deepEqual(await updates.trigger(device, "9.9.9"), rejection);
		shelf.choice = release;
		shelf.onChoose = () => {
			device.session.connected = false;
		};
		assert.equal((await updates.trigger(device, "latest"))?.code, "target_offline");
		shelf.onChoose = () => Promise.reject(new Error("EIO"));
		await assert.rejects(updates.trigger(device, "latest"), /EIO/);
		assert.deepEqual([sent, changes, history()], [[], [], []]);
		shelf.onChoose = () => {
			device.session = connect({ sent: later }).session;
		};
		assert.equal(await updates.trigger(device, "latest"), undefined);
		assert.deepEqual([sent.length, later.length], [0, 1]);
	});
});

test("notifies monitors once per change, in order, up to the new version, also of a forwarded start_ota", async (t) => {
	for (const [isTriggered, pending, version] of [
		[true, ["pending null 1.4.0 null"], "1.4.0"],
		[false, [], null],
	] as const) {
		const { updates, changes } = await run(t);
		const device = connect();
		if (isTriggered) await updates.trigger(device, "latest");
		const repeated = report("1.3.0", 99);
		for (const step of [repeated, progress(0), progress(50), progress(50), repeated, progress(100)])
			updates.onUplink(device, step);
		for (const step of [complete, complete, repeated]) updates.onUplink(device, step);
		updates.onConnected(reconnect(device));
		for (const step of [report("1.4.0"), report("1.4.0")]) updates.onUplink(device, step);
		const shown = changes.map((change) => Object.values(change).map(String).join(" "));
		assert.deepEqual(shown, [
			...pending,
			...[0, 50, 100].map((percent) => `downloading ${percent} ${version} null`),
			`rebooting 100 ${version} null`,
			"updated 100 1.4.0 null",
		]);
	}
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
		for (const reason of ["by the first percentage", "by an equal percentage"]) {
			updates.onUplink(device, progress(10));
			assert.equal(passes(5 * minute - 1), "downloading", `timeout not extended ${reason}`);
		}
		assert.equal(passes(1), "failed");
		assert.match(String(device.metadata.otaReason), /stalled at 10 %/);
		updates.onUplink(device, progress(11));
		assert.equal(device.metadata.otaStatus, "downloading");
	});
	test("is not written, unlike progress", async (t) => {
		let writes = 0;
		const disk = diskWith((operation) => {
			if (operation === "create") writes += 1;
		});
		const { updates, clock } = await run(t, { disk });
		const device = connect();
		await updates.trigger(device, "latest");
		const look = async () => {
			clock.pass(2000);
			updates.expire();
			// Writes are sequential: once this one is on disk, all earlier ones are.
			await updates.trigger(connect({ id: "dev-1-000009" }), "latest");
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
			const device = connect({ sent, features });
			await updates.trigger(device, "latest");
			clock.pass(5 * minute);
			updates.expire();
			updates.expire();
			assert.deepEqual(sent.slice(1), features.length > 0 ? [cancelation] : []);
			updates.onUplink(device, progress(40));
			assert.equal(device.metadata.otaStatus, features.length > 0 ? "failed" : "downloading");
			updates.onUplink(device, failure("The update was canceled."));
			assert.equal(device.metadata.otaStatus, "failed");
			updates.onUplink(device, complete);
			assert.equal(device.metadata.otaStatus, "rebooting", "completed nevertheless");
		}
	});
	test("cancels the update of an absent device once it returns and continues it", async (t) => {
		const { updates, clock } = await run(t);
		const device = connect({ features: ["cancel"] });
		await updates.trigger(device, "latest");
		device.session.connected = false;
		clock.pass(5 * minute);
		updates.expire();
		const sent: string[] = [];
		device.session = connect({ sent, features: ["cancel"] }).session;
		updates.onUplink(device, report("1.3.0", 900));
		assert.deepEqual(sent, [], "it may have ended the update itself");
		for (const percent of [40, 41]) updates.onUplink(device, progress(percent));
		assert.deepEqual(sent, [cancelation]);
		assert.equal(device.metadata.otaStatus, "failed");
		updates.onUplink(device, failure("The update was canceled."));
		assert.match(String(device.metadata.otaReason), /no message for 5 minutes\. The update was canceled\.$/);
	});
});

test("continues a download after a restart of the gateway, with five more minutes", async (t) => {
	const first = await run(t);
	const begun = connect();
	await first.updates.trigger(begun, "latest");
	for (const percent of [10, 43]) first.updates.onUplink(begun, progress(percent));
	await first.close();
	const { updates, clock } = await run(t, { directory: first.directory, at: 1_000_000 + 60 * minute });
	const device = connect();
	updates.onConnected(device);
	assert.deepEqual([device.metadata.otaStatus, device.metadata.otaPercent], ["downloading", 43]);
	assert.equal((await updates.trigger(device, "latest"))?.code, "ota_in_progress");
	for (const passed of [5 * minute - 1, 1]) {
		clock.pass(passed);
		updates.expire();
		assert.equal(device.metadata.otaStatus, passed === 1 ? "failed" : "downloading");
	}
	updates.onUplink(device, report("1.3.0", 99_999));
	updates.onUplink(device, progress(42));
	assert.equal(device.metadata.otaPercent, 43);
	updates.onUplink(device, complete);
	updates.onUplink(reconnect(device), report("1.4.0"));
	assert.equal(device.metadata.otaStatus, "updated");
});

test("stores the last ten updates of a device with their reasons", async (t) => {
	const { updates, close, directory } = await run(t);
	const device = connect();
	for (let round = 0; round < 12; round++) {
		await updates.trigger(device, "latest");
		updates.onUplink(device, failure(`no ${round}`));
	}
	await close();
	const again = await run(t, { directory });
	const reasons = again.updates.historyOf(deviceId).map(({ reason }) => reason);
	const latest = Array.from({ length: 10 }, (_, index) => `no ${index + 2}`);
	assert.deepEqual(reasons, latest);
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
			for (const minutes of [1, 6]) {
				await updates.trigger(device, "latest");
				updates.onUplink(device, complete);
				updates.onUplink(reconnect(device), report("1.4.0", 3));
				clock.now += step;
				clock.pass(minutes * minute);
				updates.onUplink(reconnect(device), report("1.3.0", 3));
				assert.equal(device.metadata.otaStatus, minutes < 5 ? "rolled_back" : "updated");
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
			await first.close();
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
	const other = "The device reconnected with 1.5.0, which this gateway did not send.";
	for (const [steps, status, reason] of [
		[[complete, report("1.5.0")], "failed", `${other} ${note}`],
		[[failure("The image is for PROTO-1.")], "failed", `The image is for PROTO-1. ${note}`],
		[[complete, report("1.4.0")], "updated", null],
	] as const) {
		const { updates, shelf } = await run(t);
		shelf.choice = { path: "/ota/firmware.bin", version: "1.4.0", sha256: "a", upload: "a" };
		shelf.upload = { sha256: "a", version: "1.4.0" };
		const device = connect();
		await updates.trigger(device, "custom");
		shelf.upload = { sha256: "b", version: "1.5.0" };
		for (const step of steps) {
			if (step.type === "state_report") reconnect(device);
			updates.onUplink(device, step);
		}
		assert.deepEqual([device.metadata.otaStatus, device.metadata.otaReason], [status, reason]);
	}
});

describe("update requested during the probation of the previous one", () => {
	async function onProbation(t: TestContext, version = "1.5.0") {
		const { updates, shelf } = await run(t);
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
			return updates.historyOf(deviceId).map(({ version, status }) => `${version} ${status}`);
		};
		return { updates, device, fallBack };
	}

	test("is rejected, and a later rollback is reported", async (t) => {
		const { updates, device, fallBack } = await onProbation(t);
		const message = "the firmware is not confirmed yet";
		updates.onUplink(
			device,
			uplink({ type: "command_error", deviceId, command: "start_ota", code: "busy", message }),
		);
		assert.match(String(device.metadata.otaReason), /rejected the update \(busy\)/);
		assert.deepEqual(fallBack(), ["1.5.0 failed", "1.4.0 rolled_back"]);
		assert.deepEqual([device.metadata.otaStatus, device.metadata.otaVersion], ["rolled_back", "1.4.0"]);
		assert.match(String(device.metadata.otaReason), /reverted to 1\.3\.0; .* ended: hung \(watchdog\)/);
	});
	test("ends with the previous one at a rollback if unanswered", async (t) => {
		const { fallBack, updates } = await onProbation(t);
		assert.deepEqual(fallBack(), ["1.5.0 failed", "1.4.0 rolled_back"]);
		assert.match(String(updates.historyOf(deviceId)[0]?.reason), /reverted .+ before this update started/);
	});
	test("determines its result by the version after the restart", async (t) => {
		const { updates, device, fallBack } = await onProbation(t, "1.3.0");
		for (const step of [progress(100), complete]) updates.onUplink(device, step);
		assert.deepEqual(fallBack(), ["1.4.0 updated", "1.3.0 updated"]);
	});
});

test("does not resume a rejected update after a restart, even if still on disk", async (t) => {
	const { disk } = failingDisk("rm", "EROFS");
	const { updates, close, directory } = await run(t, { disk, saveDevice: async () => false });
	assert.equal((await updates.trigger(connect(), "latest"))?.code, "storage_failed");
	await close();
	assert.deepEqual((await run(t, { directory })).history(), []);
});

describe("forgotten device", () => {
	test("is not rewritten by an update that starts meanwhile", async (t) => {
		const device = connect();
		let isGone: Promise<boolean> | undefined;
		let isRemoved = false;
		const saveDevice = async () => {
			device.session.connected = false;
			isGone = updates.forget(deviceId);
			// Long enough for the removal, unless it waits.
			for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
			isRemoved = (await readdir(directory)).length === 0;
			return true;
		};
		const { updates, directory, history } = await run(t, { saveDevice });
		for (const step of [progress(10), failure("no")]) updates.onUplink(device, step);
		await waitUntil(async () => (await readdir(directory)).length === 1);
		assert.equal((await updates.trigger(device, "latest"))?.code, "target_offline");
		assert.equal(isRemoved, false);
		assert.equal(await isGone, true);
		assert.deepEqual([await readdir(directory), history()], [[], []]);
	});

	test("is not rewritten by update progress", async (t) => {
		const held = deferred();
		let isRemoving = false;
		const disk = diskWith((operation) => {
			if (operation !== "rm") return;
			isRemoving = true;
			return held.promise;
		});
		const { updates, close, directory } = await run(t, { disk });
		updates.onUplink(connect(), progress(10));
		const isGone = updates.forget(deviceId);
		await waitUntil(() => isRemoving);
		updates.expire();
		held.resolve();
		assert.equal(await isGone, true);
		await close();
		assert.deepEqual(await readdir(directory), []);
	});

	test("is kept with its updates if its files cannot be removed", async (t) => {
		const { updates, close, directory, history } = await run(t, { disk: failingDisk("rm", "EIO").disk });
		updates.onUplink(connect(), progress(10));
		assert.equal(await updates.forget(deviceId), false);
		await close();
		assert.deepEqual([history(), await readdir(directory)], [["downloading"], ["dev-1-a1b2c3.json"]]);
	});
});

test("times out an update at the device's process, or here if that is down", async (t) => {
	const { updates, clock, history } = await run(t);
	let isUp = true;
	const link = { ...silentLink, isRemote: true, isOpen: () => isUp };
	const device = new Device(deviceId, new Session(makeHandshake(deviceId), link, 0));
	updates.applyRecord(deviceId, [{ status: "downloading", percent: 7, startedAt: clock.now }], device);
	// The other process determines its state.
	assert.equal(device.metadata.otaStatus, "idle");
	clock.pass(6 * minute);
	updates.expire();
	assert.deepEqual(history(), ["downloading"]);
	isUp = false;
	updates.expire();
	assert.equal(device.metadata.otaStatus, "failed");
	updates.applyRecord(deviceId, undefined, device);
	assert.deepEqual(history(), []);
});
