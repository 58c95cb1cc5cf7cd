import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayClock } from "../../../../gateway/api/client/clock.js";

test("estimates the gateway's clock from its frames, regardless of the local clock", () => {
	const hour = 3_600_000;
	const gateway = Date.parse("2026-11-20T12:00:00Z");
	for (const off of [-2 * hour, 0, 2 * hour]) {
		let own = gateway + off;
		const clock = new GatewayClock(() => own);
		clock.sync("2026-11-20T12:00:00Z", true);
		assert.equal(clock.now(), gateway);
		own += hour;
		assert.equal(clock.now(), gateway + hour);
		clock.sync("2026-11-20T12:30:00Z", false);
		assert.equal(clock.now(), gateway + hour, "changed by a delayed frame");
		clock.sync("2026-11-20T13:00:01Z", false);
		assert.equal(clock.now(), gateway + hour + 1000, "delayed snapshot");
		clock.sync("2026-11-20T11:00:00Z", true);
		assert.equal(clock.now(), gateway - hour, "clock of the gateway set back");
	}
});
