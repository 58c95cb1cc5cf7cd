/** Work per turn, which delays the event loop and with it buttons and reports. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { clock } from "../update/timer.js";
import { start } from "./rig.js";

for (const hasRanges of [true, false])
	test(`a turn reads at most 8 KB and a head, and writes at most six blocks with a full receive window, ${hasRanges ? "with" : "without"} ranges`, () => {
		const { rig, server, updates, play } = start({ segmentBytes: 65_535, hasRanges, endAfter: 0 });
		play();
		clock.pass(1_000);
		// A turn that lasts longer than the queued samples.
		clock.spend(1_500);
		clock.pass(20_000);
		assert.equal(server.connections, 2, "the first connection was cut");
		assert.deepEqual(updates.at(-1)?.state, "played");
		assert.ok(rig.reading.most > 0 && rig.reading.most <= 8 * 1024 + 512, `${rig.reading.most} bytes read`);
		const written = rig.output?.work.most ?? 0;
		assert.ok(written > 0 && written <= 6 * 4092, `${written} bytes written`);
	});
