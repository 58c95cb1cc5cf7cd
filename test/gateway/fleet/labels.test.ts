import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { matches } from "../../../device/protocol/schema.js";
import { label, labelOf, noLabel } from "../../../gateway/api/label.js";
import { Labels, labelRecord } from "../../../gateway/fleet/labels.js";
import { Records } from "../../../gateway/storage/records.js";
import { valid } from "../../support/arbitraries.js";
import { emptyEngine, makeSessions } from "../../support/record-stubs.js";
import "../../support/property-runs.js";

test("reads a label record back unchanged", () => {
	fc.assert(
		fc.property(valid(label), (fields) => {
			assert.ok(matches(label, fields), `invalid label: ${JSON.stringify(fields)}`);
			const expected = labelOf(fields);
			// An empty label has no record.
			fc.pre(expected !== noLabel);
			assert.deepEqual(labelRecord.parse(expected), expected);
		}),
	);
});

test("normalizes a label stored by an earlier release", () => {
	const stored = { name: "Hall \ud83d", room: "Ku\u0308che ", note: "\u200b" };
	assert.deepEqual(labelRecord.parse(stored), { name: "Hall \ufffd", room: "K\u00fcche" });
});

function run() {
	const engine = emptyEngine();
	const { events, sessions, open } = makeSessions();
	const labels = new Labels({
		sessions,
		records: (options) => new Records({ ...options, engine, onProblem: assert.fail }),
		events,
	});
	events.on(labels.listeners);
	return { engine, open, labels, events };
}

test("shows a label set by another process until it is removed, even for a device known later", async () => {
	const { engine, events, open, labels } = run();
	const shown: (readonly [reason: string, name: string | undefined])[] = [];
	events.on({ sessionChanged: ({ device }, reason) => void shown.push([reason, device?.label.name]) });
	await labels.open();
	engine.onChange?.("dev-1-000001", JSON.stringify({ name: "Hall" }));
	const { device } = open("dev-1-000001");
	assert.equal(device?.label.name, "Hall");
	assert.deepEqual(shown.filter(([reason]) => reason === "labelled").at(-1), ["labelled", "Hall"]);
	engine.onChange?.("dev-1-000001", undefined);
	assert.deepEqual([device?.label, shown.at(-1)], [noLabel, ["labelled", undefined]]);
});

test("a room is renamed when its last device moves to a room whose devices all come from it", async () => {
	const { engine, events, open, labels } = run();
	const renamed: (readonly [from: string, to: string])[] = [];
	events.on({ roomRenamed: (...rooms) => renamed.push(rooms) });
	await labels.open();
	const [first, second, third] = [1, 2, 3].map((serial) => open(`dev-1-00000${serial}`).device);
	assert.ok(first && second && third, "three devices are known");
	for (const device of [first, second]) await labels.set(device, { room: "Kitchen" });
	await labels.set(third, { room: "Hall" });
	await labels.set(first, { room: "Lounge" });
	assert.deepEqual(renamed, []);
	// At another gateway.
	engine.onChange?.(second.deviceId, JSON.stringify({ room: "Lounge" }));
	await labels.set(second, { room: "Bar" });
	await labels.set(first, { room: "Bar" });
	assert.deepEqual(renamed.splice(0), [["Lounge", "Bar"]]);
	for (const device of [first, second]) await labels.set(device, { room: "Hall" });
	await labels.set(third, { room: "" });
	assert.deepEqual(renamed, []);
});
