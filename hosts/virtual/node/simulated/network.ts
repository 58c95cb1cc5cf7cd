/** Wi-Fi, name resolution and time: this computer's network, behind access points that tests can take away. */

import { lookup } from "node:dns";
import type { WiFiReason } from "../../../../device/host.js";
import { isRecord } from "../../../../device/protocol/schema.js";
import type { AccessPoint } from "../board.js";
import type { ChannelHandler } from "../channel.js";
import { type PeripheralOptions, textOf } from "./hardware.js";

export class WiFi implements ChannelHandler {
	readonly #options: PeripheralOptions;
	readonly onClose: () => void;
	#wanted: unknown;
	#isAssociated = false;

	constructor(options: PeripheralOptions) {
		this.#options = options;
		this.onClose = options.hardware.board.listen({
			onAccessPoints: () => {
				if (this.#isAssociated) this.#associate();
			},
		});
	}

	onPost(request: string, detail: unknown): void {
		const { board } = this.#options.hardware;
		if (request === "configure") {
			board.hostname = textOf(detail, "hostname");
		} else if (request === "connect") {
			this.#wanted = detail;
			this.#associate();
		} else if (request === "scan") {
			const shown = board.accessPoints.filter(({ isHidden }) => !isHidden);
			this.#options.channel.send("scanned", shown.map(describe));
		} else {
			this.#isAssociated = false;
		}
	}

	/** With the access point that is wanted; or loses it. */
	#associate(): void {
		const ssid = textOf(this.#wanted, "SSID");
		const { accessPoints } = this.#options.hardware.board;
		const accessPoint = accessPoints.find((one) => one.ssid === ssid);
		const absent: WiFiReason = this.#isAssociated ? "signal_lost" : "no_access_point";
		const isRefused = accessPoint !== undefined && !isAccepted(accessPoint, this.#wanted);
		this.#isAssociated = accessPoint !== undefined && !isRefused;
		const joined = accessPoint ? { ...describe(accessPoint), address: "127.0.0.1" } : absent;
		this.#options.channel.send("connection", isRefused ? "wrong_password" : joined);
	}
}

function isAccepted(accessPoint: AccessPoint, wanted: unknown): boolean {
	const password = isRecord(wanted) ? wanted.password : undefined;
	return accessPoint.password === undefined || accessPoint.password === password;
}

/** With the SDK's names. */
function describe({ ssid, rssi, bssid, channel }: AccessPoint) {
	return { SSID: ssid, RSSI: rssi, BSSID: bssid, channel };
}

export class Resolver implements ChannelHandler {
	constructor({ channel, hardware }: PeripheralOptions) {
		lookup(textOf(channel.options, "host"), { family: 4 }, (error, address) => {
			if (error || hardware.board.accessPoints.length === 0) channel.send("error");
			else channel.send("resolved", address);
		});
	}
}

/** One clock for all time servers. */
export class TimeQuery implements ChannelHandler {
	constructor({ channel, hardware: { board } }: PeripheralOptions) {
		board.timeServer = isRecord(channel.options) ? channel.options.server : undefined;
		channel.send("time", board.wallClock && board.wallClock() / 1000);
	}
}
