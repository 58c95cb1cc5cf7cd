/**
 * Reference for the gateway. `ws` as in its README does the same work for sockets: it parses a device's messages,
 * sends them to every monitor in the gateway's envelope, built once, and pings everyone; it checks and stores nothing.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import { portOf } from "../../support/ports.js";
import { serve } from "../child.js";
import { usage } from "./usage.js";

const pingIntervalMs = 15_000;
const pingTickMs = 25;

const sockets = new WebSocketServer({
	noServer: true,
	clientTracking: false,
	perMessageDeflate: false,
	maxPayload: 65_536,
});
const monitors = new Set<WebSocket>();
const alive = new Map<WebSocket, boolean>();

const server = createServer();
server.on("upgrade", (request, socket, head) => {
	sockets.handleUpgrade(request, socket, head, (webSocket) => {
		alive.set(webSocket, true);
		webSocket.on("pong", () => alive.set(webSocket, true));
		webSocket.on("error", () => {});
		webSocket.on("close", () => {
			alive.delete(webSocket);
			monitors.delete(webSocket);
		});
		if (request.url === "/monitor") monitors.add(webSocket);
		else relayFrom(webSocket);
	});
});

function relayFrom(device: WebSocket): void {
	const sessionId = randomUUID();
	device.on("message", (data) => {
		const text = data.toString();
		const { deviceId } = JSON.parse(text);
		if (monitors.size === 0) return;
		const frame = Buffer.from(
			`{"type":"device_message","sessionId":"${sessionId}","deviceId":"${deviceId}","message":${text}}`,
		);
		for (const monitor of monitors) monitor.send(frame, { binary: false });
	});
}

/**
 * Pings one socket after another: pinging all of them together, as in the README, would fall into one round of ten.
 */
let pinging = alive.entries();
setInterval(() => {
	for (let left = Math.ceil((alive.size * pingTickMs) / pingIntervalMs); left > 0; left -= 1) {
		const { value, done } = pinging.next();
		if (done) {
			pinging = alive.entries();
			return;
		}
		const [socket, isAlive] = value;
		if (!isAlive) socket.terminate();
		alive.set(socket, false);
		socket.ping();
	}
}, pingTickMs);

const handlers = {
	listen: async () => {
		server.listen(0, "127.0.0.1");
		await once(server, "listening");
		return { url: `http://127.0.0.1:${portOf(server)}`, tokens: { device: "", monitor: "" } };
	},
	usage,
	stop: () => void server.close(),
};
export type ReferenceServer = typeof handlers;
serve(handlers);
