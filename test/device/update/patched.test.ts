/** Updates by patch and their fallback to the full image. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeVirtualImage } from "../../../hosts/virtual/node/boot/factory-flash.js";
import { makePatch } from "../../../scripts/release/patch.js";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { damaged } from "../../support/images.js";
import { makeReleaseKey } from "../../support/signing.js";
import { makeFirmware, Rig, type RigOptions, runUpdate } from "./rig.js";
import { type Fault, MemoryServer, type ServerOptions } from "./server.js";
import { clock } from "./timer.js";

const oldFirmware = makeFirmware("1.0.0", 400_000);
/** The same program with some changes and ten additional parts. */
const newFirmware = makeVirtualImage(
	Buffer.concat(
		Array.from({ length: 10 }, (_, part) => [
			oldFirmware.subarray(part * 40_000, (part + 1) * 40_000),
			makeFirmware(`part ${part}`, 2_000),
		]).flat(),
	).map((byte, at) => (at % 2_000 === 1_999 ? byte + 3 : byte)),
	"DEV-1",
	"2.0.0",
);
const patch = Buffer.from(makePatch(oldFirmware, newFirmware));
const named = {
	url: "http://gateway.lan:8080/a.patch",
	from: sha256Of(oldFirmware),
	to: sha256Of(newFirmware),
};

function update(
	server: Partial<ServerOptions> = {},
	options: Partial<RigOptions> = {},
	change?: (rig: Rig) => void,
) {
	const ended = runUpdate(
		{ file: newFirmware, patch, ...server },
		{ firmware: oldFirmware, patch: named, ...options },
		change,
	);
	const { messages, log } = ended.rig;
	const progress = messages.filter((message) => message.type === "ota_progress");
	return { ...ended, progress, log: log.join("") };
}

function assertInstalled({ rig, reason }: Pick<ReturnType<typeof update>, "rig" | "reason">): void {
	assert.equal(reason, undefined);
	rig.restart();
	assertSameBytes(rig.boot.image.bytes, newFirmware);
}

test("ends an update whose patch and image both arrive slower than the minimum throughput", () => {
	const startedAt = clock.now;
	const { reason } = update({ segmentBytes: 90, segmentMs: 1_500 });
	assert.match(reason ?? "", /the server sends too slowly\.$/);
	assert.ok(clock.now - startedAt < 600_000, `${clock.now - startedAt} ms`);
});

test("stops between a failed patch and the whole image", () => {
	const rig = new Rig({ firmware: oldFirmware, patch: named });
	const updater = rig.begin(new MemoryServer({ file: newFirmware, patch: Buffer.alloc(5_000) }));
	clock.runUntil(() => rig.log.length > 0, 10_000);
	updater.stop("The update was canceled.");
	clock.runUntil(() => !updater.isRunning, 10_000);
	assert.deepEqual(rig.messages, [{ type: "ota_error", reason: "The update was canceled." }]);
	assert.equal(clock.pending, 0, "pending timers");
});

test("makes firmware from the running one and reports progress in bytes of the new firmware", () => {
	const result = update();
	const { server, progress, log } = result;
	assertInstalled(result);
	assert.equal(server.bodyBytes, patch.length);
	const others = server.requests.filter(({ path }) => path !== "/a.patch");
	assert.deepEqual(others, []);
	assert.deepEqual([...new Set(progress.map(({ bytes_total }) => bytes_total))], [newFirmware.length]);
	assert.equal(progress.filter(({ percent }) => percent === 100).length, 1);
	assert.match(log, /^update: \d+ bytes in /);
});

test("keeps the patch after a lost or stalled connection and after lost, doubled or changed bytes", () => {
	const kinds: readonly Fault["kind"][] = ["cut", "stall", "lose", "double", "flip"];
	for (const kind of kinds) {
		const result = update({ faults: [{ at: 9_000, kind }] });
		assertInstalled(result);
		assert.equal(result.server.faultsLeft, 0);
		for (const { path } of result.server.requests) assert.equal(path, "/a.patch", kind);
	}
});

test("writes at most 4 KiB per turn, so that ring and reports continue", () => {
	const turns = new Map<number, number>();
	const result = update({}, {}, ({ before }) => {
		before.write = ({ length }) => void turns.set(clock.turns, (turns.get(clock.turns) ?? 0) + length);
	});
	assertInstalled(result);
	assert.equal(Math.max(...turns.values()), 4096);
});

for (const isCut of [false, true])
	test(`fetches each block once while applying takes long, ${isCut ? "and the server closes idle connections" : "on one connection"}`, () => {
		clock.clear();
		const server = new MemoryServer({ file: newFirmware, patch });
		const rig = new Rig({ firmware: oldFirmware, patch: named });
		rig.beforeRead = () => {
			clock.spend(3_000);
			if (isCut) server.cut();
		};
		assertInstalled({ rig, reason: rig.update(server) });
		assert.equal(server.bodyBytes, patch.length);
		// A download may lose five connections.
		assert.ok(isCut ? server.connections > 6 : server.connections === 1, `${server.connections} connections`);
	});

test("pauses a patch while the gateway is disconnected", () => {
	clock.clear();
	const rig = new Rig({ firmware: oldFirmware, patch: named });
	const server = new MemoryServer({ file: newFirmware, patch });
	const updater = rig.begin(server);
	clock.runUntil(() => server.requests.length === 2, 60_000);
	rig.isOnline = false;
	server.isDown = true;
	server.cut();
	clock.pass(60_000);
	rig.isOnline = true;
	server.isDown = false;
	updater.resume();
	clock.runUntil(() => rig.restarts === 1, 600_000);
	assertInstalled({ rig, reason: undefined });
	const others = server.requests.filter(({ path }) => path !== "/a.patch");
	assert.deepEqual(others, []);
});

describe("falls back to the full image in the same update when", () => {
	const other = makeFirmware("1.0.0", 390_000);
	const damagedPatch = damaged(patch, 9_000, [1, 2, 3, 4, 5, 6, 7, 8]);
	const foreign = Buffer.from(makePatch(other, newFirmware));
	const fromOther = { patch: { ...named, from: sha256Of(other) } };
	const atInvalidPort = { patch: { ...named, url: "http://gateway.lan:99999/a.patch" } };
	for (const [name, server, options, why] of [
		["the server has no patch", { patch: Buffer.alloc(0) }, {}, /The firmware on the server is empty/],
		["the patch is not a patch", { patch: newFirmware }, {}, /is not a patch/],
		["the patch is damaged", { patch: damagedPatch }, {}, /The patch is damaged/],
		["the patch is truncated", { patch: patch.subarray(0, -100) }, {}, /truncated/],
		["the patch is for other firmware", { patch: foreign }, {}, /does not match the announced/],
		["other firmware runs", { patch: foreign }, fromOther, /the SHA-256 of its result does not match/],
		["the server does not support ranges", { hasRanges: false }, {}, /does not support range requests/],
		["the patch's URL is invalid", {}, atInvalidPort, /The patch's address must be/],
	] as const)
		test(name, () => {
			const result = update(server, options);
			assertInstalled(result);
			assert.match(result.log, /^update: patch failed, downloading the whole firmware: /);
			assert.match(result.log, why);
			const types = result.rig.messages.map(({ type }) => type).filter((type) => type !== "ota_progress");
			assert.deepEqual(types, ["ota_complete"]);
		});

	test("the running firmware cannot be read", () => {
		const result = update({}, {}, (rig) => {
			rig.beforeRead = () => {
				throw new Error("ESP_ERR_FLASH_OP_FAIL");
			};
		});
		assertInstalled(result);
		assert.match(result.log, /ESP_ERR_FLASH_OP_FAIL/);
	});

	test("no image runs", () => {
		assertInstalled(
			update({}, {}, (rig) => {
				rig.hasRunningImage = false;
			}),
		);
	});

	test("flash did not keep the result; progress starts over", () => {
		let written = 0;
		const result = update({}, {}, (rig) => {
			rig.before.store = (bytes) => (++written === 30 ? bytes.map((byte) => byte ^ 1) : bytes);
		});
		assertInstalled(result);
		assert.match(result.log, /The device rejected the firmware: wrong SHA-256/);
		const percents = result.progress.map(({ percent }) => percent);
		const ends = percents.filter((percent) => percent === 0 || percent === 100);
		assert.deepEqual(ends, [0, 100, 0, 100]);
	});
});

test("reports the reason of the full image if that fails too, and accepts the next update", () => {
	clock.clear();
	const rig = new Rig({ firmware: oldFirmware, patch: named });
	assert.match(
		rig.update(new MemoryServer({ file: makeFirmware("2.0.0", 9_000, "PROTO-1") })) ?? "",
		/is for a PROTO-1/,
	);
	assert.equal(rig.messages.filter(({ type }) => type === "ota_error").length, 1);
	assertInstalled({ rig, reason: rig.update(new MemoryServer({ file: newFirmware, patch })) });
});

test("requires a signature of patched firmware as of any other", () => {
	const key = makeReleaseKey();
	const releaseKeys = key.text;
	assertInstalled(update({}, { releaseKeys, signature: key.sign(newFirmware) }));
	const { reason, server } = update({}, { releaseKeys, signature: key.sign(oldFirmware) });
	assert.match(reason ?? "", /^The firmware's signature is invalid/);
	assert.ok(
		server.requests.some(({ path }) => path !== "/a.patch"),
		"the full image was tried as well",
	);
});
