/** Firmware that ends soon after its first start, in the way given by the setting "end". */

import Instrumentation from "instrumentation";
import firmware from "main";
import Timer from "timer";
import type { Host } from "../../../../device/host.js";

declare const device: Host;

/** Limit of hosts/simulator/manifest.json. */
const chunkBytes = 262_144;
const afterReportsMs = 2000;
const lifeAfterEndMs = 300;

export default function main(): void {
	const system = new device.system({});
	trace(`started after ${system.resetReason}\n`);
	firmware();
	const end = new device.storage.settings({}).read("end");
	if (system.resetReason !== "POWERON_RESET" || end === undefined) return;
	Timer.set(() => {
		trace(`now: ${end}\n`);
		// Due before mcsim would restart the firmware by itself.
		Timer.set(() => trace("lives on after its end\n"), lifeAfterEndMs);
		if (end === "restart") system.restart();
		if (end === "exception") failOnPurpose();
		if (end === "rejection") rejectOnPurpose();
		if (end === "watchdog") runOnPurpose();
		if (end === "memory") fill([]);
		if (end === "texts") fillWithTexts();
	}, afterReportsMs);
}

function failOnPurpose(): void {
	throw new Error("the test's exception");
}

function rejectOnPurpose(): void {
	Promise.reject(new Error("the test's rejection"));
}

function runOnPurpose(): void {
	// Due when this function has ended, unless the firmware ends with it.
	Timer.set(runOnPurpose);
	for (;;);
}

/** Allocates a large chunk that does not fit. */
function fill(objects: object[]): void {
	for (;;) objects.push({});
}

/** Exhausts the chunks to the last few bytes. */
function fillWithTexts(): void {
	const used = Instrumentation.map("XS Chunk Heap Used");
	let texts: object | undefined;
	for (;;) {
		const free = chunkBytes - (Instrumentation.get(used) ?? 0);
		texts = { text: "x".repeat(free > 4096 ? 2048 : 8), texts };
	}
}
