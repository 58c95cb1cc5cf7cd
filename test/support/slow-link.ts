/** TCP proxy on 127.0.0.1 as slow as a mobile network, with limited bandwidth and latency. */

import { connect, createServer, type Socket } from "node:net";
import { nextEvent } from "./eventually.js";
import { portOf } from "./ports.js";

export interface SlowLinkOptions {
	/** Target port on 127.0.0.1. */
	readonly to: number;
	/** Bandwidth in each direction, shared by all connections. */
	readonly bitsPerSecond: number;
	/** Round-trip time in ms. */
	readonly roundTripMs: number;
}

export interface SlowLink {
	readonly port: number;
	/** Bytes delivered to clients so far. */
	readonly received: number;
	close(): void;
}

/** Ethernet packet size: connections take turns. */
const packetBytes = 1460;
/** Bytes buffered per connection and direction before reading pauses. */
const waitingAtMost = 32 * 1024;

export async function openSlowLink({ to, bitsPerSecond, roundTripMs }: SlowLinkOptions): Promise<SlowLink> {
	const sockets = new Set<Socket>();
	let received = 0;
	/** One direction; `isFree` is its next free time by performance.now(). */
	const makeWay = () => {
		let freeAt = 0;
		return async (bytes: number) => {
			freeAt = Math.max(freeAt, performance.now()) + (bytes * 8000) / bitsPerSecond;
			await new Promise((resolve) => setTimeout(resolve, freeAt + roundTripMs / 2 - performance.now()));
		};
	};
	const [there, back] = [makeWay(), makeWay()];
	/** Forwards bytes and the end of the stream in order. */
	const pass = (from: Socket, into: Socket, way: (bytes: number) => Promise<void>, isDown: boolean) => {
		let waiting = 0;
		const deliver = (packet: Buffer) => {
			waiting -= packet.length;
			if (waiting < waitingAtMost) from.resume();
			if (isDown) received += packet.length;
			if (!into.destroyed) into.write(packet);
		};
		from.on("data", (chunk) => {
			for (let at = 0; at < chunk.length; at += packetBytes) {
				const packet = Buffer.from(chunk).subarray(at, at + packetBytes);
				waiting += packet.length;
				void way(packet.length).then(() => deliver(packet));
			}
			if (waiting >= waitingAtMost) from.pause();
		});
		from.on("end", () => void way(0).then(() => into.end()));
		from.on("error", () => {});
		from.on("close", () => {
			sockets.delete(from);
			void way(0).then(() => into.destroySoon());
		});
		from.resume();
	};
	const server = createServer({ allowHalfOpen: true }, async (near) => {
		sockets.add(near.setNoDelay(true));
		near.on("error", () => {});
		// First of the two trips of the handshake: the client's kernel reports the connection immediately.
		near.pause();
		await new Promise((resolve) => setTimeout(resolve, roundTripMs));
		const far = connect({ port: to, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
		sockets.add(far);
		pass(near, far, there, false);
		pass(far, near, back, true);
	}).listen(0, "127.0.0.1");
	await nextEvent(server, "listening");
	const port = portOf(server);
	return {
		port,
		get received() {
			return received;
		},
		close: () => {
			for (const socket of sockets) socket.destroy();
			server.close();
		},
	};
}
