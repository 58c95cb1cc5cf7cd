/** Actions of a run, which record what the gateway has acknowledged. Long ones continue beside the next steps. */

import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { LinkFault } from "../support/faulty-link.js";
import type { Random } from "../support/random.js";
import type { DiskFault } from "./failing-disk.js";
import { Images } from "./images.js";
import { drawRestart, restart } from "./restart.js";
import { maxRollOuts } from "./rollouts.js";
import { type Chosen, type Place, stepMs, type World } from "./world.js";

type Perform = (world: World, chosen: Chosen) => unknown;

const hourMs = 3_600_000;

/** Each action with its weight. */
export const actions: Readonly<Record<string, readonly [weight: number, perform: Perform]>> = {
	control: [30, control],
	update: [24, update],
	upload: [6, (world, { random }) => world.start(() => upload(world, random))],
	boot: [2, boot],
	forget: [4, (world, { place, random }) => world.hold(place, () => forget(world, place, random))],
	line: [6, (world, { place, random }) => world.hold(place, () => failLine(world, place, random))],
	cut: [6, (_, { place }) => place.line.cut()],
	"cut all": [0.5, ({ places }) => void places.map(({ line }) => line.cut())],
	power: [5, (world, { place, random }) => world.hold(place, () => switchOff(place, random))],
	"second connection": [2, (_, { place }) => place.device.connectAgain()],
	flood: [
		1,
		(_, { place, random }) => {
			for (let left = random.between(150, 400); left > 0; left -= 1) place.device.report();
		},
	],
	clock: [
		2,
		({ gateway }, { random }) =>
			gateway.setClock(random.of([-1, 1]) * random.of([0.01, 1, 30, 24 * 400]) * hourMs),
	],
	"roll out": [1.5, rollOut],
	load: [0.7, (world, { random }) => world.start(() => load(world, random))],
	disk: [3, failDisk],
	"few files": [
		0.7,
		(world, { random }) => {
			if (!world.gateway.limitFiles(random.between(0, 5))) return;
			later(world, random.between(2, 5), () => world.gateway.limitFiles(undefined));
		},
	],
	freeze: [
		0.7,
		(world, { random }) => {
			world.gateway.freeze(true);
			later(world, random.between(1, 4), () => world.gateway.freeze(false));
		},
	],
	"stop reading": [
		1.5,
		(world, { monitor, random }) => {
			monitor.isReading = false;
			later(world, random.between(2, 12), () => {
				monitor.isReading = true;
			});
		},
	],
	"drop monitor": [2, (_, { monitor }) => monitor.drop()],
	restart: [0, (world, { place, random }) => restart(world, drawRestart(random, place))],
};

function later(world: World, steps: number, task: () => unknown): void {
	world.start(async () => {
		await pause(steps * stepMs);
		await task();
	});
}

function control(world: World, { monitor, place, random }: Chosen): void {
	world.start(async () => {
		world.brightness += 1;
		const value = world.brightness / 1_000_000;
		const [targetId, command] = random.byWeight([
			[3, [place.record.deviceId, "set_brightness"]],
			[1, [place.record.deviceId, "query_state"]],
			[1, [place.record.deviceId, "no_such_command"]],
			[1, ["no-such-device", "query_state"]],
		] as const);
		const payload = command === "set_brightness" ? { command, value } : { command };
		const { code } = await monitor.request({ type: "control_device", targetId, payload });
		const isValid = targetId !== "no-such-device" && command !== "no_such_command";
		if (isValid ? code === "invalid_command" : code === "ack")
			world.journal.break(`${JSON.stringify(payload)} to ${targetId} got ${code}`);
	});
}

function update(world: World, { monitor, place: { record }, random }: Chosen): void {
	world.start(async () => {
		// A forgotten device gets a new list: the response may arrive after it was forgotten.
		const { accepted, deviceId } = record;
		const isUpload = random.chance(0.2);
		if (!isUpload) record.releases += 1;
		const version = isUpload ? "custom" : Images.release(record.releases);
		record.askedAt.set(version, performance.now());
		const { code } = await monitor.request({ type: "trigger_ota", targetId: deviceId, version });
		world.journal.note(`update of ${deviceId} to ${version}: ${code}`);
		world.journal.count(`update: ${code}`);
		if (code !== "ack") return;
		accepted.push(isUpload ? undefined : version);
		if (accepted === record.accepted) record.isKept = true;
	});
}

function boot(_: World, { monitor, place }: Chosen): void {
	void monitor.request({ type: "boot_device", targetId: place.record.deviceId });
}

async function upload(world: World, random: Random): Promise<void> {
	if (world.isUploading) return;
	world.isUploading = true;
	await world.whenChecked;
	const { images, ledger, gateway, journal } = world;
	const isDamaged = random.chance(0.15);
	const { bytes, version } = images.upload(random.chance(0.3) ? "PROTO-1" : "DEV-1");
	if (isDamaged) bytes.fill(0x55, 5000, 5004);
	else ledger.uploads.push(version);
	const { status } = await gateway.upload(bytes, version);
	journal.note(`upload of ${version}: ${status}`);
	if (status === 201 && isDamaged) journal.break("a damaged upload was accepted");
	if (status === 201) {
		ledger.uploadsKept = ledger.uploads.length;
		ledger.isUploadLost = false;
	}
	world.isUploading = false;
}

async function failLine({ journal }: World, { line, record }: Place, random: Random): Promise<void> {
	const fault = random.of<LinkFault>(["stalled", "upstream lost", "downstream lost", "torn", "slow"]);
	journal.note(`line of ${record.deviceId}: ${fault}`);
	line.fault = fault;
	await pause(random.between(2, 20) * stepMs);
	line.fault = undefined;
}

async function switchOff({ device, line }: Place, random: Random): Promise<void> {
	await device.powerOff();
	line.cut();
	await pause(random.between(1, 10) * stepMs);
	device.powerOn();
}

function rollOut(world: World, { place, random }: Chosen): void {
	// All of them are kept.
	if (world.rollouts.count === maxRollOuts) return place.line.cut();
	const backMs = random.of([0, 0.01, 1, 24 * 400]) * hourMs;
	world.start(() => world.rollouts.start(place, backMs));
}

/** Loads the gateway, which must keep its fleet: its frames must reach devices in time. */
async function load({ gateway, places, journal }: World, random: Random): Promise<void> {
	const { pauses } = gateway;
	const silent = () => places.filter(({ device, isHeld }) => !isHeld && device.silences > 0).length;
	for (const { device } of places) device.silences = 0;
	await gateway.load(true);
	// Longer than the timeout of a device for a frame.
	await pause(random.between(16, 20) * stepMs);
	await gateway.load(false);
	const lost = gateway.pauses === pauses ? silent() : 0;
	journal.note(`load: ${lost} devices closed their connections`);
	// A busy computer may cost a few connections.
	if (lost > places.length / 5)
		journal.break(`${lost} of ${places.length} devices timed out during a gateway overload`);
}

async function failDisk(world: World, { random }: Chosen): Promise<void> {
	const { gateway } = world;
	const fault: DiskFault = {
		kind: random.of(["full", "read-only", "too many files", "broken", "slow", "slow"]),
		every: random.between(1, 3),
		delayMs: random.between(20, 400),
	};
	world.journal.note(`disk: ${fault.kind}`);
	await gateway.setDisk(fault);
	// Each action ends only its own fault.
	later(world, random.between(2, 10), () => gateway.diskFault === fault && gateway.setDisk(undefined));
}

async function forget(world: World, place: Place, random: Random): Promise<void> {
	const { gateway, journal } = world;
	await place.device.powerOff();
	place.line.cut();
	const address = `/api/devices/${place.record.deviceId}`;
	for (let attempt = 0; attempt < 10; attempt += 1) {
		await pause(200);
		if ((await gateway.request(address)).text.includes('"connected":false')) break;
	}
	await world.whenChecked;
	const { status } = await gateway.request(address, { method: "DELETE" });
	journal.note(`forget ${place.record.deviceId}: ${status}`);
	await checkForgotten(world, place, address, status);
	await pause(random.between(2, 8) * stepMs);
	place.device.powerOn();
}

async function checkForgotten(
	{ gateway, journal }: World,
	{ record }: Place,
	address: string,
	status: number,
) {
	if (status === 404 || status === 409) return;
	// If it failed, or its result is unknown, it may be partly done.
	record.isKept = false;
	record.accepted = [];
	if (status !== 204) return;
	record.isForgotten = true;
	for (const folder of ["devices", "updates"]) {
		const path = join(gateway.dataDir, folder, `${record.deviceId}.json`);
		const exists = await access(path).then(
			() => true,
			() => false,
		);
		if (exists) journal.break(`${record.deviceId} was forgotten, but ${path} exists`);
	}
	if ((await gateway.request(address)).status === 200)
		journal.break(`${record.deviceId} was forgotten, but the gateway still reports it`);
}
