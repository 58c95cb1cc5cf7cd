/** Final check: all faults end, then gateway, devices, monitors and disk must agree, without leftovers. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { SessionRecord } from "../../gateway/api/session.js";
import { isActiveUpdate } from "../../gateway/api/statuses.js";
import { silenceMs } from "./ledger.js";
import { type ReportedDevice, restart } from "./restart.js";
import type { World } from "./world.js";

/** Firmware that failed to connect for long retries after a minute. */
const backMs = 90_000;
const agreeMs = 20_000;
/** Uploads of this minute may have reached the rate limit of one address. */
const uploadMs = 70_000;
/** HTTP keep-alive connections, the log, the lock, and Node's own files. */
const otherFiles = 40;
const heapGrowthBytes = 12 * 2 ** 20;

/** @throws Error if an invariant is broken */
export async function checkFinalState(world: World, heapBefore: number | undefined): Promise<void> {
	const { gateway, places, monitors, ledger } = world;
	await heal(world);
	await world.until(async () => {
		const waiting = places.filter(({ device }) => !device.isIdle).map(({ record }) => record.deviceId);
		if (waiting.length > 0) return `${waiting} have not ended their updates`;
		const stale = monitors.filter(({ isLive }) => !isLive).map(({ name }) => name);
		if (stale.length > 0) return `${stale} have no snapshot yet`;
		return findProblem(await devicesOf(world), world);
	}, backMs);
	await world.until(() => {
		const asking = monitors.filter(({ unanswered }) => unanswered > 0).map(({ name }) => name);
		return asking.length > 0 ? `${asking} wait for answers` : undefined;
	}, agreeMs);
	ledger.hasTimePassed = true;
	await gateway.pass(silenceMs);
	await world.until(async () => {
		const { devices } = await devicesOf(world);
		const left = devices.filter(({ metadata }) => isActiveUpdate(metadata.otaStatus));
		return left.length > 0 ? `${left[0]?.deviceId} is still being updated` : undefined;
	}, agreeMs);
	await world.until(() => world.rollouts.findUnended(), agreeMs);
	await agree(world);
	const { status, text } = await gateway.request("/readyz");
	if (status !== 200) world.journal.break(`the gateway is not ready: ${text}`);
	await replaceUpload(world);
	await world.until(() => findDiskProblem(world), agreeMs);
	await checkGrowth(world, heapBefore);
	await checkRestart(world);
}

async function heal(world: World): Promise<void> {
	await world.settle();
	for (const { device, line } of world.places) {
		line.fault = undefined;
		if (!device.isOn) device.powerOn();
	}
	await world.rollouts.cancel();
}

interface Devices {
	readonly devices: readonly SessionRecord[];
}

function devicesOf({ gateway }: World): Promise<Devices> {
	return gateway.get<Devices>("/api/devices");
}

/** Checks that every device is connected and reported with the version that it runs. */
function findProblem({ devices }: Devices, { places }: World): string | undefined {
	for (const { record } of places) {
		const { deviceId, runs } = record;
		const reported = devices.find((device) => device.deviceId === deviceId);
		if (!reported?.connected) return `${deviceId} is not connected`;
		if (reported.firmwareVersion !== runs)
			return `${deviceId} runs ${runs}, but is reported with ${reported.firmwareVersion}`;
	}
	return devices.length > places.length ? "there are devices that do not exist" : undefined;
}

/** Checks that all monitors show the gateway's state, up to the last report. */
async function agree(world: World): Promise<void> {
	const { gateway, places, monitors, ledger } = world;
	for (const { device } of places) {
		device.isQuiet = true;
		device.report();
	}
	await world.until(async () => {
		for (const { record } of places) {
			const reported = await gateway.get<ReportedDevice>(`/api/devices/${record.deviceId}`);
			ledger.checkHistory(record, reported.updates);
			for (const { name, fleet } of monitors) {
				const shown = fleet.get(record.deviceId);
				const problem = shown ? findDifference(shown.session, reported) : "no session";
				if (problem) return `${name} shows ${record.deviceId} with ${problem}`;
				if (!isDeepStrictEqual(shown?.state, reported.state))
					return `${name} shows a stale state of ${record.deviceId}`;
			}
		}
		const surplus = monitors.find(({ fleet }) => fleet.size !== places.length);
		return surplus && `${surplus.name} shows ${surplus.fleet.size} devices instead of ${places.length}`;
	}, agreeMs);
}

const compared = ["sessionId", "model", "connected", "connectedAt", "firmwareVersion", "metadata"] as const;

function findDifference(shown: SessionRecord, reported: SessionRecord): string | undefined {
	const field = compared.find((name) => !isDeepStrictEqual(shown[name], reported[name]));
	return field && `${field} ${JSON.stringify(shown[field])} instead of ${JSON.stringify(reported[field])}`;
}

/** Uploads once more, which removes leftovers of uploads that failed on a failing disk. */
async function replaceUpload(world: World): Promise<void> {
	const { gateway, images, ledger, journal } = world;
	const { bytes, version } = images.upload("DEV-1");
	await world.until(async () => {
		const { status, text } = await gateway.upload(bytes, version);
		if (status !== 201 && status !== 429) journal.break(`an upload was rejected: ${status} ${text}`);
		return status === 201 ? undefined : text;
	}, uploadMs);
	ledger.uploads.push(version);
	ledger.uploadsKept = ledger.uploads.length;
}

/** Checks that the disk contains what the gateway reports, and nothing else. */
async function findDiskProblem({ gateway, places, damaged }: World): Promise<string | undefined> {
	const list = (folder: string) => readdir(join(gateway.dataDir, folder)).catch(() => []);
	const files = (await Promise.all(["devices", "updates", "firmware"].map(list))).flat();
	const left = files.filter((name) => name.endsWith(".tmp"));
	if (left.length > 0) return `temporary files are left: ${left}`;
	const binaries = files.filter((name) => name.endsWith(".bin"));
	if (binaries.length > 1) return `unused firmware is left: ${binaries}`;
	for (const { record } of places) {
		const { deviceId } = record;
		const reported = await gateway.get<ReportedDevice>(`/api/devices/${deviceId}`);
		const pathOf = (folder: string) => join(gateway.dataDir, folder, `${deviceId}.json`);
		const read = (folder: string) => readFile(pathOf(folder), "utf8");
		const { firmwareVersion } = JSON.parse(await read("devices"));
		if (firmwareVersion !== reported.firmwareVersion)
			return `the record of ${deviceId} is stale: ${firmwareVersion}`;
		// A damaged file stays until something is written.
		if (reported.updates.length === 0 && damaged.has(pathOf("updates"))) continue;
		const content = await read("updates").catch(() => '{"jobs":[]}');
		const { jobs }: { jobs: readonly { status: string }[] } = JSON.parse(content);
		const statuses = (list: readonly { status: string }[]) => list.map(({ status }) => status).join();
		if (statuses(jobs) !== statuses(reported.updates))
			return `the updates of ${deviceId} are ${statuses(jobs)} on disk, but reported as ${statuses(reported.updates)}`;
	}
	return undefined;
}

/** Checks that no memory, socket or file of disconnected clients is left. */
async function checkGrowth(world: World, heapBefore: number | undefined): Promise<void> {
	const { gateway, places, monitors, journal } = world;
	const expected = places.length + monitors.length;
	let isNoted = false;
	await world.until(async () => {
		const inUse = await gateway.inUse();
		if (!inUse) return "the gateway is away";
		const { heap, webSockets, sessions, tcp } = inUse;
		const growth = heapBefore === undefined ? 0 : heap - heapBefore;
		if (!isNoted) journal.note(`in use: ${JSON.stringify({ ...inUse, growth, files: openFiles(world) })}`);
		isNoted = true;
		if (webSockets > expected) return `${webSockets} WebSockets are in memory, of ${expected}`;
		if (sessions > places.length) return `${sessions} sessions are in memory, of ${places.length}`;
		if (tcp > expected + otherFiles) return `${tcp} sockets are open, of ${expected}`;
		if (openFiles(world) > expected + otherFiles) return `${openFiles(world)} files are open`;
		if (growth > heapGrowthBytes) return `${growth} more bytes are in use than before`;
		return undefined;
	}, agreeMs);
}

/** Number of open files; 0 without /proc. */
function openFiles({ gateway }: World): number {
	try {
		return gateway.openFiles();
	} catch {
		return 0;
	}
}

/** Checks that one more kill loses nothing. */
async function checkRestart(world: World): Promise<void> {
	const { gateway, places, journal } = world;
	const readAll = async () => {
		const reported = new Map<string, string>();
		for (const { record } of places) {
			const { model, firmwareVersion, metadata, updates } = await gateway.get<ReportedDevice>(
				`/api/devices/${record.deviceId}`,
			);
			reported.set(record.deviceId, JSON.stringify({ model, firmwareVersion, metadata, updates }));
		}
		return reported;
	};
	await Promise.all(places.map(({ device }) => device.powerOff()));
	const before = await readAll();
	await restart(world, { how: "kill", away: 0 });
	const after = await readAll();
	for (const [deviceId, was] of before)
		if (after.get(deviceId) !== was) journal.break(`${deviceId} was ${was}, but is ${after.get(deviceId)}`);
	await gateway.stop();
	const left = (await readdir(gateway.dataDir)).filter((name) => name === "gateway.lock");
	if (left.length > 0) journal.break("the gateway has ended, but its lock remains");
	journal.check();
}
