import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { eventually, nextEvent, waitUntil, within } from "./eventually.js";

const never = new Promise<never>(() => {});

// A wait does not keep the process alive: a test without a socket or child process would be canceled.
const alive = setInterval(() => {}, 60_000);
after(() => clearInterval(alive));

const limited: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
	["a promise", () => within(never, "the first report", 10), /the first report/],
	["a promise with a lazy description", () => within(never, () => `volume ${30}`, 10), /volume 30/],
	["a condition", () => waitUntil(() => limited.length === 0, undefined, 10), /limited.length ?=== ?0/],
	["a condition that never settles", () => waitUntil(() => never, undefined, 10), /never/],
	[
		"a value",
		() =>
			eventually(
				() => 20,
				(value) => value === 30,
				10,
			),
		/value ?=== ?30 of 20; the last was 20/,
	],
	[
		"a value that cannot be read",
		() => eventually(() => Promise.reject("away"), Boolean, 10),
		/the last was away/,
	],
];

for (const [name, wait, expected] of limited)
	test(`times out with a description of ${name}`, async () => {
		await assert.rejects(wait, ({ message, stack }: Error) => {
			assert.match(message, new RegExp(`^Timed out after 0.01 s waiting for .*${expected.source}`));
			assert.match(String(stack), /^Error: Timed out .*eventually\.test\.ts/s);
			return true;
		});
	});

test("resolves with the awaited value", async () => {
	const emitter = new EventEmitter();
	const event = nextEvent(emitter, "sent");
	emitter.emit("sent", 7);
	assert.deepEqual(await event, [7]);
	let turns = 0;
	await waitUntil(
		() => turns === 3,
		() => void turns++,
	);
	const even = eventually(
		() => {
			if (turns === 3) throw new Error(`${turns++}`);
			return turns++;
		},
		(value) => value > 4,
	);
	assert.equal(await even, 5);
});

test("quick tests have no polling loop or event without a timeout", () => {
	// Simulated hardware and networks may wait forever.
	const simulations = ["test/support/faulty-link.ts", "test/support/eventually.ts"];
	const files = ["device", "gateway", "hosts", "scripts", "support", "system"].flatMap((folder) =>
		readdirSync(`test/${folder}`, { recursive: true, encoding: "utf8" }).map(
			(file) => `test/${folder}/${file}`,
		),
	);
	const found = files
		.filter((file) => file.endsWith(".ts") && !file.includes(".long.test.") && !simulations.includes(file))
		.filter((file) => /\bawait once\(|^\s*while \(.*\) await /m.test(readFileSync(file, "utf8")));
	assert.deepEqual(found, [], "use nextEvent and waitUntil of test/support/eventually.ts");
});
