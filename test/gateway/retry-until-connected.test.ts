import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { BusError } from "../../gateway/bus.js";
import { retryUntilConnected } from "../../gateway/retry-until-connected.js";

/** Advances the timers by `ms` in steps of 250 ms. */
async function pass(t: TestContext, ms: number): Promise<void> {
	for (let passed = 0; passed < ms; passed += 250) {
		await new Promise(setImmediate);
		t.mock.timers.tick(250);
	}
	await new Promise(setImmediate);
}

function wait(failures: number) {
	const problems: string[] = [];
	let tries = 0;
	const isClosed = () => false;
	const done = retryUntilConnected({ isClosed, onProblem: (problem) => problems.push(problem) }, async () => {
		tries += 1;
		if (tries <= failures) throw new BusError("disconnected", "no leader");
	});
	return { done, problems };
}

test("reports once, with the reason, that NATS is unreachable for 10 s", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const { done, problems } = wait(80);
	await pass(t, 9_500);
	assert.deepEqual(problems, []);
	await pass(t, 10_500);
	await done;
	assert.deepEqual(problems, ["NATS is still unreachable (no leader). Check NATS_URL and the NATS server."]);
});

test("reports nothing for a shorter wait", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const { done, problems } = wait(20);
	await pass(t, 20_000);
	await done;
	assert.deepEqual(problems, []);
});
