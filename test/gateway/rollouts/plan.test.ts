/** Plans: options of people, requests completed and validated, and commands. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultOptions, makePlan, oneByOne } from "../../../gateway/api/client/rollout-plan.js";
import type { Head } from "../../../gateway/api/rollout.js";
import { executeCommand, rolloutCommands } from "../../../gateway/rollouts/commands.js";
import { apply, firstHead } from "../../../gateway/rollouts/machine.js";
import { completePlan, parsePlan } from "../../../gateway/rollouts/plan.js";
import { makeDevice } from "../../support/record-stubs.js";
import { sampleRollout } from "./sample-rollout.js";

const now = Date.parse("2026-11-20T12:00:00Z");
const firmware = { version: "1.4.0" };
const smallest = { firmware, target: { model: "DEV-1" } } as const;
const standing = { firmware: { channel: "beta" }, target: { all: true }, standing: true };
const deviceId = "dev-1-000001";
const images = [{ sha256: "0".repeat(64) }];

function complete(asked: object) {
	const device = makeDevice(deviceId);
	device.model = "DEV-1";
	return completePlan(asked, {
		devices: new Map([[deviceId, device]]),
		selection: {
			pin: async ({ version = "2.0.0", channel }) =>
				version === "9.9.9"
					? { rejection: { code: "unknown_version", message: "none" } }
					: { version: channel ? "2.0.0" : version, ...(channel && { channel }), source: "release", images },
		},
		now: () => now,
		yieldToLoop: async () => {},
	});
}

describe("plan of a person's options", () => {
	const devices = (count: number) => ({ devices: Array.from({ length: count }, (_, index) => `${index}`) });
	const model = { model: "DEV-1" } as const;
	const few = [{ ...oneByOne, size: "rest" }];
	const limits = { soakSeconds: "60", concurrency: "2", maxFailures: "2" };
	const limited = { soakSeconds: 60, concurrency: 2, errorThreshold: { count: 2 } };
	const canary = { canary: "10%", canaryFailures: "5%", approval: true, concurrency: "9" };
	const afterCanary = [
		{ size: "10%", concurrency: 5, errorThreshold: { percent: 5 } },
		{ size: "rest", concurrency: 9, approval: true },
	];
	for (const [what, target, options, size, groups] of [
		["one device", devices(1), {}, undefined, few],
		["20 devices", devices(20), {}, undefined, few],
		["21 devices", devices(21), {}, undefined, undefined],
		["a model of 3 devices", model, {}, 3, few],
		["a model that may grow", model, { standing: true }, 3, undefined],
		["a model of unknown size", model, {}, undefined, undefined],
		["options of few devices", devices(3), limits, undefined, [{ size: "rest", ...limited }]],
		["a canary", devices(3), canary, undefined, afterCanary],
		["no canary", devices(30), { canary: "0" }, undefined, [{ size: "rest" }]],
	] as const)
		test(`has the groups for ${what}`, () => {
			const made = makePlan(firmware, target, { ...defaultOptions, ...options }, size);
			assert.deepEqual(made.groups, groups);
		});
});

describe("plan", () => {
	test("is completed with conservative defaults", () => {
		const { groups, ...rest } = parsePlan(smallest, () => 100, now);
		const common = { approval: false, soakSeconds: 180 };
		assert.deepEqual(groups, [
			{ size: 5, concurrency: 5, errorThreshold: { count: 2, minExecuted: 10 }, ...common },
			{ size: "rest", concurrency: 20, errorThreshold: { percent: 10, minExecuted: 10 }, ...common },
		]);
		assert.equal(parsePlan(smallest, () => 101, now).groups[0]?.size, "5%");
		const times = { startsAt: "2026-11-20T12:00:00.000Z", deadline: "2026-12-20T12:00:00.000Z" };
		const defaults = { standing: false, maxAttempts: 2, allowDowngrade: false };
		assert.deepEqual(rest, { ...smallest, ...defaults, ...times });
	});

	for (const [path, change, base = smallest] of [
		["firmware", { firmware: undefined }],
		["firmware", { firmware: {} }],
		["firmware.version", { firmware: { version: "9.9.9" } }],
		["firmware", { firmware: { ...firmware, images } }],
		["target", { target: {} }],
		["target", { target: { all: false } }],
		["target", { target: { all: true, tags: "beta" } }],
		["target.devices", { target: { devices: ["dev-1-unknown"] } }],
		["target.devices", { target: { devices: [deviceId, deviceId] } }],
		["target.tags", { target: { tags: "beta," } }],
		["groups.0", { groups: [{ size: "rest", concurency: 5 }] }],
		["groups.0.size", { groups: [{ size: 5 }] }],
		["groups.0.size", { groups: [{ size: "rest" }, { size: "rest" }] }],
		["groups.0.size", { groups: [{ size: "0%" }, { size: "rest" }] }],
		["groups.1.errorThreshold", { groups: [{ size: 5 }, { size: "rest", errorThreshold: {} }] }],
		["deadline", { deadline: "2020-01-01T00:00:00Z" }],
		["deadline", { startsAt: "2027-01-02T00:00:00Z", deadline: "2027-01-01T00:00:00Z" }],
		["window.timeZone", { window: { from: "22:00", to: "05:00", timeZone: "Mars/Base" } }],
		["window.from", { window: { from: "25:00", to: "05:00" } }],
		["window.days", { window: { from: "22:00", to: "05:00", days: [] } }],
		["standing", { target: { devices: [deviceId] } }, standing],
		["firmware.channel", { firmware: { channel: "Beta" } }, standing],
		["firmware.version", { firmware: { channel: "beta", version: "1.0.0" } }, standing],
	] as const)
		test(`is rejected with the name of its field for ${JSON.stringify(change)}`, async () => {
			await assert.rejects(complete({ ...base, ...change }), { message: new RegExp(`^${path}[ :]`) });
		});
});

describe("command", () => {
	const timing = { now: 7, isDue: true, isOpen: true, isLate: false, graceMs: 0 };
	const startedAt = 1;
	const operator = { status: "paused", pausedBecause: "operator" } as const;
	/** Head, and the status after each command; undefined: rejected. */
	const cases: Readonly<Record<string, readonly [Partial<Head>, ...(string | undefined)[]]>> = {
		scheduled: [{}, "paused", "scheduled", undefined, "cancelled", "scheduled"],
		running: [
			{ startedAt, status: "running", approved: 0 },
			...["paused", "running", "running", "cancelled", "running"],
		],
		paused: [{ startedAt, ...operator }, "paused", "running", undefined, "cancelled", "paused"],
		"paused before its start": [operator, "paused", "scheduled", undefined, "cancelled", "paused"],
		"waiting for approval": [
			{ startedAt, ...operator, pausedBecause: "approval" },
			...["paused", undefined, "running", "cancelled", "paused"],
		],
		finished: [{ startedAt, status: "finished" }, undefined, undefined, undefined, undefined, "running"],
		canceled: [{ startedAt, status: "cancelled" }, undefined, undefined, undefined, "cancelled", undefined],
	};
	for (const [what, [change, ...expected]] of Object.entries(cases))
		test(`of a person to a rollout ${what} has its effect or is rejected`, () => {
			const head = { ...firstHead, ...change };
			const failed = { deviceId, status: "failed", at: 1, attempts: 1, group: 0 } as const;
			const rollout = apply(sampleRollout([deviceId]), { head, devices: [failed] });
			const statuses = rolloutCommands.map((command) => {
				const result = executeCommand(rollout, command, timing);
				return typeof result === "string" ? undefined : (result.head ?? head).status;
			});
			assert.deepEqual(statuses, expected);
			assert.equal(typeof executeCommand(rollout, "retry", { ...timing, isLate: true }), "string");
		});
});
