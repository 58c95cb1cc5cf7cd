/** TCP and TLS sockets, with a receive window: what the firmware does not read keeps the sender waiting, as on a board. */

import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { isRecord } from "../../../../device/protocol/schema.js";
import { numberOf, type StandIn, textOf, trustOf } from "./stand-in.js";

/** CONFIG_LWIP_TCP_WND_DEFAULT of the boards. */
const windowBytes = 65_535;
/** Four segments: what a board's driver hands on at a time when it is busy. */
const pieceBytes = 5_760;

export const tcp: StandIn = (channel) => {
	let socket: Socket;
	try {
		socket = open(channel.options);
	} catch {
		// A certificate that is none.
		setImmediate(() => channel.send("error"));
		return {};
	}
	let unreadBytes = 0;
	let isOver = false;
	const fail = () => {
		if (!isOver) channel.send("error");
		isOver = true;
	};
	socket.setNoDelay(true);
	socket.on("connect", () => socket.connecting || isSecure(channel.options) || channel.send("open"));
	socket.on("secureConnect", () => channel.send("open"));
	socket.on("data", (bytes: Buffer) => {
		for (let at = 0; at < bytes.length; at += pieceBytes)
			channel.send("data", undefined, bytes.subarray(at, at + pieceBytes));
		unreadBytes += bytes.length;
		if (unreadBytes > windowBytes) socket.pause();
	});
	// A refused certificate, a reset, an address nobody listens at: the firmware learns that it failed, and no more.
	socket.on("error", fail);
	socket.on("close", fail);
	return {
		onPost: (request, detail, payload) => {
			if (request === "write") {
				socket.write(Buffer.from(payload));
				return;
			}
			unreadBytes -= Number(detail);
			if (unreadBytes <= windowBytes) socket.resume();
		},
		onClose: () => {
			isOver = true;
			socket.destroy();
		},
	};
};

function isSecure(options: unknown): boolean {
	return isRecord(options) && isRecord(options.secure);
}

function open(options: unknown): Socket {
	const host = textOf(options, "address");
	const port = numberOf(options, "port");
	const secure = isRecord(options) ? options.secure : undefined;
	if (!isRecord(secure)) return connectTcp({ host, port });
	const name = textOf(options, "host");
	return connectTls({
		host,
		port,
		ALPNProtocols: ["http/1.1"],
		// The certificate is held against the name, or the address where there is no name.
		...(isIP(name) === 0 && { servername: name }),
		...trustOf(secure),
	});
}
