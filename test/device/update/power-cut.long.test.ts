import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf } from "../../../device/message-of.js";
import { Probation } from "../../../device/update/probation.js";
import { type CutMoment, cutMoments, PowerCut } from "../../../hosts/virtual/node/boot/flash.js";
import { verifyImage } from "../../../hosts/virtual/node/boot/image.js";
import { slots } from "../../../hosts/virtual/node/boot/partitions.js";
import { readSelection } from "../../../hosts/virtual/node/boot/selection.js";
import { makePatch } from "../../../scripts/release/patch.js";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { makeFirmware, Rig } from "./rig.js";
import { MemoryServer } from "./server.js";
import { clock } from "./timer.js";

const first = makeFirmware("1.0.0", 30_000);
const second = makeFirmware("2.0.0", 36_000);
/** File on the server, with a signature, so that power is cut after the image's own end too. */
const secondFile = Buffer.concat([second, Buffer.alloc(4096 - (second.length % 4096) + 4096, "signature")]);
const patch = Buffer.from(makePatch(first, secondFile));
const third = makeFirmware("3.0.0", 33_000);
/** Images that a device may run. Any other state is a brick. */
const whole = [first, second, third];

/** Flash operations from `start_ota` to confirmed new firmware, including those of the boot loader. */
function updateAndConfirm(rig: Rig, file: Buffer): void {
	// Only a device that was given a patch requests it.
	const reason = rig.update(new MemoryServer({ file, ...(file === secondFile && { patch }) }));
	// Errors of the firmware after a power cut do not count.
	if (!rig.flash.isPowered) throw new PowerCut();
	assert.equal(reason, undefined);
	rig.restart();
	confirm(rig);
}

/** Confirms the new firmware. */
function confirm(rig: Rig): void {
	const { ota } = rig;
	const probation = new Probation({
		boot: {
			isPendingVerify: ota.isPendingVerify,
			confirm() {
				ota.confirm();
				return true;
			},
			rollBack: () => {},
		},
		restart: () => {},
	});
	probation.onReported(true, {
		number: (_name, _minimum, _maximum, otherwise) => otherwise,
		remember: () => {},
	});
	assert.equal(probation.isOn, false);
}

/** Powers on until the boot loader has started an image, after a single power cut. */
function start(rig: Rig): void {
	rig.flash.powerOn();
	rig.restart();
}

interface Outcome {
	readonly runs: number;
	/** Failures, one line per run. */
	readonly bricks: readonly string[];
}

/**
 * Runs once for each moment of each flash operation of an update: power is cut and restored, the device must start a
 * complete image, old or new, and then accept the next update. No slot that holds an incomplete image may be
 * selected.
 */
function cutEverywhere(prepare: () => Rig): Outcome {
	const operations = countOperations(prepare());
	assert.ok(operations > 10, `${operations} operations`);
	const bricks: string[] = [];
	let runs = 0;
	for (let operation = 1; operation <= operations; operation++)
		for (const moment of cutMoments) {
			runs += 1;
			const rig = prepare();
			const problem = runWithCut(rig, operation, moment);
			if (problem) bricks.push(`${moment} ${operation}: ${problem}`);
		}
	return { runs, bricks };
}

function countOperations(rig: Rig): number {
	const before = rig.flash.operations;
	updateAndConfirm(rig, secondFile);
	return rig.flash.operations - before;
}

/** @returns the failure, or undefined */
function runWithCut(rig: Rig, operation: number, moment: CutMoment): string | undefined {
	rig.flash.cutAt(operation, moment);
	try {
		updateAndConfirm(rig, secondFile);
		return "power was not cut";
	} catch (error) {
		if (!(error instanceof PowerCut)) return String(error);
	}
	try {
		rig.flash.powerOn();
		verifyImage(rig.flash, slots[readSelection(rig.flash).slot]);
		start(rig);
		if (!whole.some((image) => image.equals(rig.boot.image.bytes))) return "a half image was started";
		// New firmware may be on probation now: it is confirmed, and the device accepts the next update.
		confirm(rig);
		updateAndConfirm(rig, third);
		return rig.boot.image.bytes.equals(third) ? undefined : "the next update did not come to run";
	} catch (error) {
		return messageOf(error);
	}
}

function fresh(): Rig {
	clock.clear();
	return new Rig({ firmware: first });
}

/** Patch given to each update, which matches only the first one. */
function patched(): Rig {
	clock.clear();
	const [from = "", to = ""] = [first, secondFile].map((file) => sha256Of(file));
	return new Rig({ firmware: first, patch: { url: "http://gateway.lan:8080/a.patch", from, to } });
}

/** Device that was updated before: the other slot runs. */
function updatedBefore(): Rig {
	const rig = fresh();
	updateAndConfirm(rig, third);
	return rig;
}

/** Device that rolled back: the other slot failed its probation. */
function rolledBackBefore(): Rig {
	const rig = fresh();
	assert.equal(rig.update(new MemoryServer({ file: third })), undefined);
	rig.restart();
	rig.restart();
	assert.ok(rig.boot.image.bytes.equals(first), "unconfirmed at its second start");
	return rig;
}

for (const [name, prepare] of [
	["on a new device", fresh],
	["by a patch", patched],
	["on an updated device", updatedBefore],
	["on a device that rolled back", rolledBackBefore],
] as const)
	test(`an update ${name} survives a power cut before, during or after any flash operation`, (t) => {
		const { runs, bricks } = cutEverywhere(prepare);
		assert.deepEqual(bricks, []);
		t.diagnostic(`${runs} power cuts, 0 bricks`);
	});

test("the patch of these tests produces the firmware without falling back", () => {
	const rig = patched();
	updateAndConfirm(rig, secondFile);
	assertSameBytes(rig.boot.image.bytes, second);
	assert.doesNotMatch(rig.log.join(""), /patch failed/);
});
