/** Wi-Fi, name resolution and time: this computer's network, behind an access point that tests can take away. */

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
			onAccessPoint: (accessPoint) => {
				if (this.#isAssociated) this.#associate(accessPoint);
			},
		});
	}

	onPost(request: string, detail: unknown): void {
		const { board } = this.#options.hardware;
		if (request === "configure") {
			board.hostname = textOf(detail, "hostname");
		} else if (request === "connect") {
			this.#wanted = detail;
			this.#associate(board.accessPoint);
		} else {
			this.#isAssociated = false;
		}
	}

	#associate(accessPoint: AccessPoint | undefined): void {
		const reason = failureReason(accessPoint, this.#wanted);
		this.#isAssociated = reason === undefined;
		const detail = { SSID: accessPoint?.ssid, RSSI: accessPoint?.rssi, address: "127.0.0.1" };
		this.#options.channel.send("connection", reason ?? detail);
	}
}

/** @returns undefined where the access point can be joined */
function failureReason(accessPoint: AccessPoint | undefined, wanted: unknown): WiFiReason | undefined {
	if (accessPoint?.ssid !== textOf(wanted, "SSID")) return "no_access_point";
	const password = isRecord(wanted) ? wanted.password : undefined;
	const isRight = accessPoint.password === undefined || accessPoint.password === password;
	return isRight ? undefined : "wrong_password";
}

export class Resolver implements ChannelHandler {
	constructor({ channel, hardware }: PeripheralOptions) {
		lookup(textOf(channel.options, "host"), { family: 4 }, (error, address) => {
			if (error || !hardware.board.accessPoint) channel.send("error");
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
