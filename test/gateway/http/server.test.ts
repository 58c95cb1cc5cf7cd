import assert from "node:assert/strict";
import { test } from "node:test";
import { watchProgress } from "../../../gateway/http/server.js";
import { incomingRequest } from "../../support/incoming-request.js";

test("reports an upload as stalled after a window with less than 16 KiB, until it is complete", (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const request = Object.assign(incomingRequest("10.0.0.1", {}), { complete: false });
	let [bytes, stalls] = [5000, 0];
	Object.defineProperty(request.socket, "bytesRead", { get: () => bytes });
	const pass = (received: number) => {
		bytes += received;
		t.mock.timers.tick(30_000);
		return stalls;
	};
	const stop = watchProgress(request, () => {
		stalls += 1;
	});
	assert.deepEqual([16_384, 20_000, 16_383, 100_000].map(pass), [0, 0, 1, 1]);
	request.complete = true;
	assert.equal(pass(0), 1);
	request.complete = false;
	stop();
	assert.equal(pass(0), 1);
});
