/** Tests of crash causes reported by devices of several gateways. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { joinGateways } from "../../../gateway/cluster/extension.js";
import { extensions } from "../../../gateway/extensions.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { limits } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { countOf, crashed, crashOf, run, until } from "./crashed.js";

test("counts each crash once across gateways, and reports a new cause at one of them", async (t) => {
	const buses = await memoryBuses();
	const join = async () => {
		const dataDir = await temporaryDirectory(t);
		return run(t, { dataDir, ...joinGateways(await buses.connect(), dataDir, extensions), limits });
	};
	const [a, b] = [await join(), await join()];
	const ids = Array.from({ length: 12 }, (_, index) => index);
	const report = (index: number) =>
		crashed((index % 2 ? a : b).gateway, `dev-1-a1b2${index + 10}`, crashOf(`${index + 10}`));
	await Promise.all(ids.map(report));
	for (const { gateway } of [a, b]) {
		const list = await until(gateway, (listed) => countOf(listed) === ids.length);
		assert.deepEqual([list.causes.length, list.causes[0]?.deviceCount], [1, ids.length]);
	}
	assert.equal(a.told.length + b.told.length, 1);
});
