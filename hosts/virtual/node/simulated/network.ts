/** Wi-Fi, name resolution, datagrams and time: this computer's network, behind access points that tests can remove. */

import { createSocket } from "node:dgram";
import { lookup } from "node:dns";
import type { WiFiReason } from "../../../../device/host.js";
import type { WantedNetwork } from "../../peripherals.js";
import type { AccessPoint } from "../board.js";
import type { Simulate } from "./hardware.js";

export const wifi: Simulate<"wifi"> = ({ send }, { board }) => {
	let isAssociated = false;
	let wanted: WantedNetwork = { SSID: "" };
	/** Associates with the requested access point, or reports its loss. */
	const associate = () => {
		const accessPoint = board.accessPoints.find(({ ssid }) => ssid === wanted.SSID);
		const absent: WiFiReason = isAssociated ? "signal_lost" : "no_access_point";
		const isRejected = accessPoint?.password !== undefined && accessPoint.password !== wanted.password;
		isAssociated = accessPoint !== undefined && !isRejected;
		const joined = accessPoint ? { ...describe(accessPoint), address: "127.0.0.1" } : absent;
		send("connection", isRejected ? "wrong_password" : joined);
	};
	return {
		configure: ({ hostname }) => {
			board.hostname = hostname;
		},
		connect: (network) => {
			wanted = network;
			associate();
		},
		scan: () => send("scanned", board.accessPoints.filter(({ isHidden }) => !isHidden).map(describe)),
		disconnect: () => {
			isAssociated = false;
		},
		onClose: board.listen({
			onAccessPoints: () => {
				if (isAssociated) associate();
			},
		}),
	};
};

/** Describes an access point with the SDK's property names. */
function describe({ ssid, rssi, password, bssid, channel }: AccessPoint) {
	return {
		SSID: ssid,
		RSSI: rssi,
		security: password === undefined ? "none" : "wpa2_psk",
		...(bssid !== undefined && { BSSID: bssid }),
		...(channel !== undefined && { channel }),
	};
}

export const dns: Simulate<"dns"> = ({ options: { host }, send }, { board }) => {
	lookup(host, { family: 4 }, (error, address) => {
		send("resolved", error || board.accessPoints.length === 0 ? null : address);
	});
	return {};
};

export const udp: Simulate<"udp"> = ({ send }, { board }) => {
	const socket = createSocket("udp4");
	// Ignores errors such as an unreachable address: nothing arrives.
	socket.on("error", () => {});
	socket.on("message", (bytes) => send("datagram", null, bytes));
	return {
		write: ({ address, port }, bytes) => {
			if (board.accessPoints.length > 0) socket.send(Buffer.from(bytes), port, address);
		},
		onClose: () => socket.close(),
	};
};

/** Time query. All time servers share one clock. */
export const time: Simulate<"time"> = ({ options: { server }, send }, { board }) => {
	board.timeServer = server;
	send("time", board.wallClock ? board.wallClock() / 1000 : null);
	return {};
};
