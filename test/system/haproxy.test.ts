/** Gateway behind Debian's haproxy. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { GatewayOptions } from "../../gateway/gateway.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { onEnd } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { runHaproxy } from "../support/haproxy.js";
import { whyMissing } from "../support/programs.js";
import { bearer, Client, deviceToken, runGateway } from "../support/running.js";

const noHaproxy = whyMissing("haproxy");

/** @param server options of haproxy's server line */
async function runBalanced(t: TestContext, server: string, options: GatewayOptions, ca?: string) {
	const refused: string[] = [];
	const write = (line: string) => {
		const { msg, problem } = JSON.parse(line);
		if (msg === "upgrade rejected") refused.push(problem);
	};
	const running = await runGateway(t, { log: createLog("warn", { write }), ...options });
	onEnd(t, () => assert.deepEqual(refused, []));
	const { host } = new URL(running.url);
	const check = ca === undefined ? ["option httpchk GET /readyz"] : [];
	// A busy computer may respond more slowly than the check interval.
	const port = await runHaproxy(t, "timeout check 20s", ...check, `server gateway ${host} check ${server}`);
	const url = `${ca === undefined ? "ws" : "wss"}://127.0.0.1:${port}`;
	const open = (path: string, token: string, localAddress: string, headers = {}) => {
		const client = new Client(`${url}${path}`, {
			headers: { ...bearer(token), ...headers },
			localAddress,
			...(ca !== undefined && { ca }),
		});
		onEnd(t, () => client.socket.terminate());
		return client;
	};
	return {
		...running,
		port,
		url,
		open,
		/** 101, or the status of the rejected upgrade. */
		async statusOf(localAddress: string): Promise<number | undefined> {
			const { socket } = open("/device", deviceToken, localAddress);
			return Promise.race([
				once(socket, "open").then(() => 101),
				once(socket, "unexpected-response").then(([, response]) => response.statusCode),
			]);
		},
	};
}

test("haproxy stops using a gateway whose /readyz says that it drains", {
	skip: noHaproxy,
}, async (t) => {
	const { gateway, port, open } = await runBalanced(t, "inter 500ms fall 1", {
		limits: { deviceCloseTimeoutMs: 60_000, closeTimeoutMs: 60_000 },
	});
	const device = open("/device", deviceToken, "127.0.0.2");
	await nextEvent(device.socket, "open");
	device.socket.pause();
	const stopped = gateway.close();
	const ask = async () => {
		const asked = request(`http://127.0.0.1:${port}/readyz`, { agent: false }).end();
		try {
			const [response] = await nextEvent(asked, "response");
			return await text(response);
		} catch {
			return "no server is up";
		}
	};
	let answer = await ask();
	for (; answer !== "no server is up"; answer = await ask()) {
		assert.match(answer, /The gateway is stopping/);
		await setTimeout(20);
	}
	device.socket.resume();
	await stopped;
});
