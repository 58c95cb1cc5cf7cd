/** Restarts the gateway: all acknowledged data must persist, except what was damaged meanwhile. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionRecord } from "../../gateway/api/session.js";
import type { Random } from "../support/random.js";
import type { ReportedUpdate } from "./ledger.js";
import { type Place, stepMs, type World } from "./world.js";

/** Device in `/api/devices/<id>`. */
export type ReportedDevice = SessionRecord & { readonly updates: readonly ReportedUpdate[] };

/** File damaged while the gateway is down: the record of a device or of its updates, or the upload. */
interface Damaged {
	readonly what: "devices" | "updates" | "upload";
	readonly place: Place;
	readonly how: "cut short" | "emptied" | "zeroed" | "a bit flipped";
	/** Position of the damage, 0 to 1. */
	readonly at: number;
}

interface Restart {
	readonly how: "kill" | "stop";
	/** In steps. */
	readonly away: number;
	readonly damaged?: Damaged | undefined;
}

export function drawRestart(random: Random, place: Place): Restart {
	const what = random.byWeight<Damaged["what"] | undefined>([
		[6, undefined],
		[4, "devices"],
		[4, "updates"],
		[1, "upload"],
	]);
	return {
		how: random.chance(0.75) ? "kill" : "stop",
		away: random.between(0, 6),
		damaged: what && {
			what,
			place,
			how: random.of(["cut short", "emptied", "zeroed", "a bit flipped"]),
			at: random.next(),
		},
	};
}

/** @throws Error if anything but the damaged file is lost */
export function restart(world: World, action: Restart): Promise<void> {
	const checked = goAndComeBack(world, action);
	world.whenChecked = checked.catch(() => {});
	return checked;
}

async function goAndComeBack(world: World, action: Restart): Promise<void> {
	const { gateway, journal } = world;
	if (action.how === "kill") await gateway.kill();
	else await gateway.stop();
	world.connectLines(undefined);
	gateway.newLog();
	const damagedPath = action.damaged && (await damage(world, action.damaged));
	await pause(action.away * stepMs);
	journal.check();
	await gateway.start();
	if (damagedPath !== undefined) world.damaged.add(damagedPath);
	checkLog(world, damagedPath);
	await checkKept(world);
	journal.check();
	world.connectLines(gateway.port);
}

/** Starts the gateway for the first time. */
export async function start(world: World): Promise<void> {
	await world.gateway.start();
	world.connectLines(world.gateway.port);
}

/** @returns the file; undefined if there is none */
async function damage(world: World, { what, place, how, at }: Damaged): Promise<string | undefined> {
	const { gateway, ledger } = world;
	const folder = join(gateway.dataDir, what === "upload" ? "firmware" : what);
	const name = what === "upload" ? await uploadFile(folder, at) : `${place.record.deviceId}.json`;
	const path = join(folder, name);
	const content = await readFile(path).catch(() => undefined);
	if (!content) return undefined;
	await writeFile(path, spoil(content, how, at));
	if (what === "upload") ledger.isUploadLost = true;
	else if (what === "devices") place.record.isKept = false;
	else {
		place.record.accepted = [];
		place.record.hasLostUpdates = true;
	}
	world.journal.note(`${path} is ${how}`);
	return path;
}

/** One of the current two; failed uploads may have left others. */
async function uploadFile(folder: string, at: number): Promise<string> {
	const description = "upload.json";
	const content = await readFile(join(folder, description), "utf8").catch(() => "");
	const [, sha256] = /"sha256": "(\w+)"/.exec(content) ?? [];
	return at < 0.5 ? description : `${sha256}.bin`;
}

/** @param at position, 0 to 1 */
function spoil(content: Buffer, how: Damaged["how"], at: number): Buffer {
	const place = Math.floor(content.length * at * 0.9);
	switch (how) {
		case "cut short":
			return content.subarray(0, place);
		case "emptied":
			return Buffer.alloc(0);
		case "zeroed":
			return Buffer.alloc(content.length);
		case "a bit flipped": {
			// A significant position: in a string another letter would be valid.
			const copy = Buffer.from(content);
			copy[0] = (copy[0] ?? 0) ^ 0x04;
			return copy;
		}
	}
}

/** Checks that the log names exactly the files that were damaged, now or earlier and not written since. */
function checkLog({ gateway, journal, damaged }: World, damagedPath: string | undefined): void {
	const lines = gateway.newLog().split("\n");
	const lost = lines.filter((line) => / is damaged; |cannot be read|firmware cannot be used/.test(line));
	for (const path of damaged) if (!lost.some((line) => line.includes(path))) damaged.delete(path);
	const other = lost.find((line) => ![...damaged].some((path) => line.includes(path)));
	if (other !== undefined) journal.break(`an undamaged file was lost: ${other}`);
	if (damagedPath !== undefined && !damaged.has(damagedPath))
		journal.break(`${damagedPath} was damaged, but the log does not name it`);
}

/** Compares the gateway's state with its disk before any device reconnects. */
async function checkKept(world: World): Promise<void> {
	const { gateway, ledger, journal } = world;
	const { devices } = await gateway.get<{ devices: readonly SessionRecord[] }>("/api/devices");
	const known = new Set(devices.map(({ deviceId }) => deviceId));
	for (const session of devices) {
		ledger.checkSession(session);
		if (session.connected) journal.break(`${session.deviceId} is reported as connected before it could be`);
	}
	for (const place of world.places) await checkDevice(world, place, known.has(place.record.deviceId));
	const { version } = await gateway.get<{ version: string | null }>("/ota/status");
	const { uploads, uploadsKept, isUploadLost } = ledger;
	const isPossible = version === null ? uploadsKept === 0 || isUploadLost : isRecent(version);
	if (!isPossible)
		journal.break(`the upload is ${version}, but ${uploads[uploadsKept - 1]} was acknowledged`);

	function isRecent(version: string): boolean {
		return uploads.slice(Math.max(0, uploadsKept - 1)).includes(version);
	}
}

async function checkDevice({ gateway, ledger, journal }: World, { record }: Place, isKnown: boolean) {
	const { deviceId } = record;
	if (record.isKept && !isKnown) journal.break(`${deviceId} is unknown after the restart`);
	if (record.isForgotten && isKnown) journal.break(`${deviceId} was forgotten, but is known again`);
	record.isKept = isKnown;
	if (isKnown)
		ledger.checkHistory(record, (await gateway.get<ReportedDevice>(`/api/devices/${deviceId}`)).updates);
}
