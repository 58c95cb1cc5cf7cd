import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { GatewayClient } from "../../scripts/command-line/gateway-client.js";
import { act } from "../../scripts/rollout/requests.js";
import { listen } from "../support/ports.js";
import { monitorToken } from "../support/running.js";

test("a retry also resumes a rollout that failures have paused", async (t) => {
	process.env.MONITOR_TOKEN = monitorToken;
	const asked: string[] = [];
	const server = createServer(({ url = "" }, response) => {
		asked.push(url);
		response.setHeader("Content-Type", "application/json");
		response.end(JSON.stringify({ pausedBecause: asked.length === 1 ? "failures" : "approval" }));
	});
	const gateway = new GatewayClient(`http://127.0.0.1:${await listen(t, server)}`);
	for (let turn = 0; turn < 2; turn += 1) await act(gateway, "a", "retry");
	const commands = asked.map((url) => url.slice("/api/rollouts/a/".length));
	assert.deepEqual(commands, ["retry", "resume", "retry"]);
});
