import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { StateReport } from "../../../device/protocol/messages.js";
import type { Model } from "../../../device/protocol/schema.js";
import { History } from "../../../gateway/fleet/history.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { runs } from "../../support/property-runs.js";
import { type Client, runWatched } from "../../support/running.js";
import { crashOf } from "./crashed.js";

/** Node's `gc` without its command line option. */
function collectGarbage(): void {
	setFlagsFromString("--expose-gc");
	runInNewContext("gc")();
}

const stepMs = 300_000;
const steps = 288;

interface Said {
	readonly at: number;
	readonly rssi: number;
	readonly heap: number;
	readonly light: number | undefined;
}

function reportOf({ rssi, heap, light }: Said): StateReport {
	const model: Model = light === undefined ? "DEV-1" : "PROTO-1";
	const { network, health, peripherals, ...rest } = sampleReport(model);
	return {
		...rest,
		network: { ...network, wifi_rssi: rssi },
		health: { ...health, free_heap_bytes: heap },
		peripherals: { ...peripherals, ...(light !== undefined && { ambient_light: light }) },
	};
}

/** Expected columns by the definition in openapi.yaml. */
function expected(said: readonly Said[], now: number) {
	const latest = Math.floor(now / stepMs);
	const columns = Array.from({ length: steps }, (_, index) => {
		const step = latest - steps + 1 + index;
		const inStep = said.filter(({ at }) => Math.floor(at / stepMs) === step);
		return { step, inStep };
	});
	const of = (value: (inStep: readonly Said[]) => number) =>
		columns.map(({ inStep }) => (inStep.length > 0 ? value(inStep) : null));
	const rssi = (inStep: readonly Said[]) => inStep.map((report) => report.rssi);
	const light = (inStep: readonly Said[]) => inStep.map(({ light = 0 }) => 16 * Math.floor(light / 16));
	const eighth = (at: number) => Math.floor((at % stepMs) / (stepMs / 8));
	const hasLight = columns.some(({ inStep }) => inStep.some((report) => report.light !== undefined));
	return {
		rssi: { min: of((inStep) => Math.min(...rssi(inStep))), max: of((inStep) => Math.max(...rssi(inStep))) },
		heap: of((inStep) =>
			Math.min(...inStep.map(({ heap }) => Math.min(Math.floor(heap / 1024), 65_534) * 1024)),
		),
		light: hasLight
			? { min: of((inStep) => Math.min(...light(inStep))), max: of((inStep) => Math.max(...light(inStep))) }
			: null,
		presence: columns.map(({ step, inStep }) => {
			if (step < 0) return null;
			const heard = new Set(inStep.map(({ at }) => eighth(at)));
			const passed = step < latest ? 8 : eighth(now) + (heard.has(eighth(now)) ? 1 : 0);
			return passed === 0 ? null : heard.size / passed;
		}),
	};
}

test("keeps the last 24 hours of reports in steps of 5 minutes", () => {
	const gap = fc.oneof(
		fc.nat(10_000),
		fc.nat(stepMs * 2),
		fc.nat(stepMs * steps * 2),
		fc.constantFrom(stepMs, stepMs * steps, stepMs * (steps - 1)),
	);
	const said = (light: fc.Arbitrary<number | undefined>) =>
		fc.array(
			fc.record({
				gap,
				rssi: fc.integer({ min: -128, max: 0 }),
				heap: fc.oneof(
					fc.nat(300_000),
					fc.nat(2 ** 31 - 1).map((value) => value * 2 + 1),
				),
				light,
			}),
			{ maxLength: 40 },
		);
	const either = fc.oneof(said(fc.constant(undefined)), said(fc.nat(4095)));
	fc.assert(
		fc.property(either, fc.boolean(), gap, (reports, isRead, lastGap) => {
			const history = new History();
			const all: Said[] = [];
			let now = 0;
			for (const { gap: passed, ...rest } of reports) {
				now += passed;
				all.push({ at: now, ...rest });
				history.add(reportOf({ at: now, ...rest }), now);
				if (isRead) history.read(now);
			}
			now += lastGap;
			const { ageMs, stepSeconds, ...columns } = history.read(now);
			assert.deepEqual(columns, expected(all, now));
			assert.equal(stepSeconds, 300);
			assert.equal(ageMs, now - (Math.floor(now / stepMs) - steps + 1) * stepMs);
		}),
		{ numRuns: runs(300) },
	);
});

test("uses 2.3 KB per device after 40 minutes", () => {
	const histories = Array.from({ length: 500 }, () => new History());
	// Buffers of earlier tests, which would count as released by this one.
	collectGarbage();
	const before = process.memoryUsage().arrayBuffers;
	const report = sampleReport("PROTO-1");
	const bytesAt = (steps: number) => {
		for (const history of histories)
			for (let at = 0; at < steps * stepMs; at += 5000) history.add(report, at);
		return (process.memoryUsage().arrayBuffers - before) / histories.length;
	};
	const early = bytesAt(8);
	assert.ok(early < 500, `${early} bytes for each device`);
	const later = bytesAt(9);
	assert.ok(later > early && later <= 2400, `${later} bytes after ${early}`);
});

test("returns the columns with marks of restarts, crashes and updates", async (t) => {
	let now = Date.parse("2026-11-20T12:00:00Z");
	const start = now - 1000;
	const { gateway, monitor } = await runWatched(t, { now: () => now, monotonic: () => now - start });
	const { health, ...report } = sampleReport("DEV-1");
	/** Connects and reports. */
	const join = async (changes: Partial<StateReport["health"]>) => {
		const device = await gateway.device({ "Device-Id": "dev-1-a1b2c3", "Device-Features": "crash" });
		device.send({ ...report, health: { ...health, ...changes } });
		await monitor.until(({ message }) => Object(message).type === "state_report");
		return device;
	};
	const leave = async ({ socket }: Client, ms: number) => {
		now += ms;
		socket.close();
		await monitor.change("disconnected");
	};
	// One restart too old for a mark, then a recent one.
	await leave(await join({ uptime_seconds: 5 }), 30 * 3_600_000);
	const again = await join({ uptime_seconds: 60, reset_reason: "PANIC_RESET" });
	const crash = crashOf("5f0c21b7", { kind: "panic", firmware_version: "1.2.3" });
	again.send({ type: "crash_report", deviceId: "dev-1-a1b2c3", crash });
	await monitor.change("crash");
	now += 60_000;
	again.send({ type: "ota_error", reason: "HTTP 404" });
	await monitor.change("ota");
	await leave(again, 30_000);
	await join({ uptime_seconds: 10, reset_reason: "SW_RESET" });

	const { headers, body } = await gateway.api("GET", "/api/devices/dev-1-a1b2c3/history");
	assert.equal(headers.get("cache-control"), "no-store");
	const { from, stepSeconds, rssi, heap, light, presence, marks } = body;
	const time = (ms: number) => new Date(now - ms).toISOString();
	assert.deepEqual(marks, [
		{ at: time(150_000), kind: "restart", reason: "PANIC_RESET", version: null },
		{ at: time(90_000), kind: "crash", reason: "panic", version: "1.2.3" },
		{ at: time(30_000), kind: "update", reason: "failed", version: null },
		{ at: time(10_000), kind: "restart", reason: "SW_RESET", version: null },
	]);
	assert.equal(stepSeconds, 300);
	// 30 h and 91 s after the clock's start: the latest step began 91 s ago.
	assert.equal(from, time(91_000 + 287 * stepMs));
	for (const column of [rssi.min, rssi.max, heap, presence]) assert.equal(column.length, steps);
	assert.deepEqual([rssi.min.at(-1), rssi.max.at(-1), heap.at(-1), light], [-50, -50, 185 * 1024, null]);
	assert.deepEqual([rssi.min.at(-2), presence.at(-2)], [null, 0]);
	assert.equal((await gateway.api("GET", "/api/devices/unknown/history")).status, 404);
});
