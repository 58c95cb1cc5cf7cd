/** Records in an engine that another process writes to. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type RecordEngine, Records, Superseded } from "../../../gateway/storage/records.js";
import { emptyEngine } from "../../support/record-stubs.js";

function run() {
	const written: string[] = [];
	const state: { error: Error | undefined } = { error: undefined };
	const engine: RecordEngine = {
		...emptyEngine(),
		write: async (key, text) => {
			if (state.error) throw state.error;
			written.push(`${key} ${JSON.parse(text ?? "null")}`);
		},
	};
	const taken: (string | undefined)[] = [];
	const records = new Records<string>({
		engine,
		what: "values",
		parse: String,
		onProblem: () => {},
		onRecord: (_deviceId, record) => taken.push(record),
	});
	return { records, engine, state, written, taken };
}

test("drops a failed or pending change once another process has written the record", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const { records, engine, state, written, taken } = run();
	state.error = new Error("away");
	assert.equal(await records.save("a", "mine"), false);
	engine.onChange?.("a", '"theirs"');
	state.error = undefined;
	t.mock.timers.tick(1_000);
	await records.settle();
	const waiting = records.save("a", "mine again");
	engine.onChange?.("a", '"theirs again"');
	assert.equal(await waiting, false);
	assert.deepEqual([written, taken], [[], ["theirs", "theirs again"]]);
	void records.save("a", "mine once more");
	engine.onChange?.("a", '"theirs"');
	assert.equal(await records.save("a", "later"), true);
	assert.deepEqual(written, ["a later"]);
});

test("does not retry a change that the engine rejects as outdated", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const { records, state, written } = run();
	state.error = new Superseded();
	assert.equal(await records.save("a", "mine"), false);
	state.error = undefined;
	t.mock.timers.tick(1_000);
	await records.settle();
	assert.deepEqual(written, []);
});
