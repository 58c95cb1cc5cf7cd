/** Wi-Fi, DNS, time and WebSocket: real sockets of this computer, behind an access point that tests can take away. */

import { lookup } from "node:dns";
import { WebSocket } from "ws";
import type { WiFiReason } from "../../../../device/host.js";
import { isRecord } from "../../../../device/protocol/schema.js";
import type { AccessPoint } from "../board.js";
import { numberOf, type StandIn, textOf, trustOf } from "./stand-in.js";

export const wifi: StandIn = (channel, { board }) => {
	let wanted: unknown;
	let isAssociated = false;

	const associate = (accessPoint: AccessPoint | undefined) => {
		const reason = whyNot(accessPoint, wanted);
		isAssociated = reason === undefined;
		const detail = { SSID: accessPoint?.ssid, RSSI: accessPoint?.rssi, address: "127.0.0.1" };
		channel.send("connection", reason ?? detail);
	};
	const stop = board.listen({
		onAccessPoint: (accessPoint) => {
			if (isAssociated) associate(accessPoint);
		},
	});
	return {
		onPost: (request, detail) => {
			if (request === "configure") {
				board.hostname = textOf(detail, "hostname");
			} else if (request === "connect") {
				wanted = detail;
				associate(board.accessPoint);
			} else {
				isAssociated = false;
			}
		},
		onClose: stop,
	};
};

/** @returns nothing where the access point can be joined */
function whyNot(accessPoint: AccessPoint | undefined, wanted: unknown): WiFiReason | undefined {
	if (accessPoint?.ssid !== textOf(wanted, "SSID")) return "no_access_point";
	const password = isRecord(wanted) ? wanted.password : undefined;
	const isRight = accessPoint.password === undefined || accessPoint.password === password;
	return isRight ? undefined : "wrong_password";
}

export const dns: StandIn = (channel, { board }) => {
	lookup(textOf(channel.options, "host"), { family: 4 }, (error, address) => {
		if (error || !board.accessPoint) channel.send("error");
		else channel.send("resolved", address);
	});
	return {};
};

/** One clock, whichever server is asked. */
export const time: StandIn = (channel, { board }) => {
	board.timeServer = isRecord(channel.options) ? channel.options.server : undefined;
	channel.send("time", board.wallClock && board.wallClock() / 1000);
	return {};
};

/** RFC 6455, section 5.2. */
const opcode = { close: 8, ping: 9, pong: 10 };

export const websocket: StandIn = (channel) => {
	const { options } = channel;
	const secure = isRecord(options) ? options.secure : undefined;
	const address = textOf(options, "address");
	const url = new URL(`${secure ? "wss" : "ws"}://${textOf(options, "host")}${textOf(options, "path")}`);
	url.port = String(numberOf(options, "port"));
	const socket = new WebSocket(url, {
		headers: headersOf(options),
		perMessageDeflate: false,
		// The firmware has looked the name up; certificates are still held against the name.
		lookup: (_name, { all }, found) =>
			all ? found(null, [{ address, family: 4 }]) : found(null, address, 4),
		...trustOf(secure),
	});
	let isCloseSent = false;
	let hasPeerClosed = false;
	let failure: string | undefined;

	socket.on("open", () => channel.send("open"));
	socket.on("message", (data: Buffer, isBinary) =>
		channel.send("message", isBinary ? "binary" : "text", data),
	);
	socket.on("ping", (data) => channel.send("control", { opcode: opcode.ping }, data));
	socket.on("pong", (data) => channel.send("control", { opcode: opcode.pong }, data));
	socket.on("unexpected-response", (_request, { statusCode = 0, headers }) => {
		const retryAfter = headers["retry-after"];
		const isSeconds = retryAfter !== undefined && /^\d{1,9}$/.test(retryAfter);
		channel.send("refused", {
			status: statusCode,
			...(isSeconds && { retryAfterSeconds: Number(retryAfter) }),
		});
		socket.terminate();
	});
	// "error" is always followed by "close".
	socket.on("error", ({ message }) => {
		failure = message;
	});
	socket.on("close", (code, reason) => {
		hasPeerClosed = true;
		// 1005 and 1006 never travel: no code came, and no close frame at all.
		if (code === 1006) return channel.send("error", failure);
		const bytes = code === 1005 ? Buffer.alloc(0) : Buffer.from([code >> 8, code & 0xff, ...reason]);
		channel.send("control", { opcode: opcode.close }, bytes);
		return channel.send("close");
	});
	return {
		onPost: (_request, detail, payload) => {
			const bytes = Buffer.from(payload);
			const code = isRecord(detail) ? detail.opcode : undefined;
			const sent = () => channel.send("sent", { byteCount: bytes.length });
			if (code === opcode.ping) return socket.ping(bytes, true, sent);
			if (code === opcode.close) {
				isCloseSent = true;
				return socket.close(bytes.readUInt16BE(0));
			}
			const { binary, more } = isRecord(detail) ? detail : {};
			return socket.send(bytes, { binary: binary !== false, fin: more !== true }, sent);
		},
		onClose: () => {
			// A close frame that was just written still goes out, as from a TCP stack.
			if (!isCloseSent && !hasPeerClosed) socket.terminate();
		},
	};
};

function headersOf(options: unknown): Record<string, string> {
	const headers = isRecord(options) ? options.headers : undefined;
	if (!Array.isArray(headers)) throw new Error("headers must be a list");
	return Object.fromEntries(headers);
}
