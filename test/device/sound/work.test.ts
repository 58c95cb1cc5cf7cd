/** Work per turn, which delays the event loop and with it buttons and reports. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SoundUpdate } from "../../../device/sound/results.js";
import { bytesPerSecond, noise, wav } from "../../support/sounds.js";
import { MemoryServer } from "../update/server.js";
import { clock } from "../update/timer.js";
import { Rig } from "./rig.js";

for (const hasRanges of [true, false])
	test(`a turn reads at most 8 KB and writes at most six blocks with a full receive window, ${hasRanges ? "with" : "without"} ranges`, () => {
		clock.clear();
		const server = new MemoryServer({
			file: wav(noise(5 * bytesPerSecond)),
			segmentBytes: 65_535,
			hasRanges,
			endAfter: 0,
		});
		const updates: SoundUpdate[] = [];
		const rig = new Rig({ server, volume: 50, onUpdate: (update) => updates.push(update) });
		rig.execute({ command: "play_sound", value: { id: "a", url: "http://10.0.0.1/a.wav" } });
		clock.pass(1_000);
		// A turn that lasts longer than the queued samples.
		clock.spend(1_500);
		clock.pass(20_000);
		assert.equal(server.connections, 2, "the first connection was cut");
		assert.deepEqual(updates.at(-1)?.state, "played");
		assert.ok(rig.reading.most > 0 && rig.reading.most <= 8 * 1024, `${rig.reading.most} bytes read`);
		const written = rig.output?.work.most ?? 0;
		assert.ok(written > 0 && written <= 6 * 4092, `${written} bytes written`);
	});
