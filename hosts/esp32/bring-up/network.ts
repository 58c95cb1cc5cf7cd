/** Connection steps from the access point to the gateway, run one at a time to find the one that fails. */

import { pause } from "bring-up/pause";
import type { Answer, RequestParams } from "bring-up/requests";
import { GatewaySocket } from "network/gateway-socket";
import { parseGatewayUrl } from "network/gateway-url";
import { idOf } from "protocol/models";
import Timer from "timer";
import type { FoundNetwork, Host, WiFi } from "../../../device/host.js";

/** ECMA-419 connection state: connected, with an address. */
const usable = 500;
const joinTimeoutMs = 20_000;
const pollMs = 100;
const scanTimeoutMs = 6_000;
const mostNetworks = 32;

type Network = Host["network"];

/** Wi-Fi driver, shared by all steps so that a connection lasts. */
export class Station {
	readonly #wifi: WiFi;

	constructor({ wifi: Part }: Network) {
		this.#wifi = new Part({ onChanged: () => {} });
	}

	/** Scans for access points. @returns one entry per access point */
	scan(): Promise<Answer<"wifi_scan">> {
		const wifi = this.#wifi;
		if (!wifi.scan) return Promise.resolve({ networks: [], problem: "this host has no Wi-Fi" });
		wifi.disconnect();
		const found: { ssid: string; rssi: number }[] = [];
		return new Promise((resolve) => {
			const timer = Timer.set(
				() => resolve({ networks: found, problem: "the scan timed out after 6 s" }),
				scanTimeoutMs,
			);
			wifi.scan?.({
				onFound: ({ SSID, RSSI }: FoundNetwork) => {
					if (found.length < mostNetworks) found.push({ ssid: SSID, rssi: RSSI });
				},
				onComplete: () => {
					Timer.clear(timer);
					resolve({ networks: found });
				},
			});
		});
	}

	async join({ ssid, password }: RequestParams<"wifi_join">): Promise<Answer<"wifi_join">> {
		const wifi = this.#wifi;
		wifi.disconnect();
		wifi.connect(password === "" ? { SSID: ssid } : { SSID: ssid, password });
		for (let waitedMs = 0; waitedMs < joinTimeoutMs; waitedMs += pollMs) {
			await pause(pollMs);
			const { connection, address, reason } = wifi;
			if (connection >= usable && address) return { address };
			if (reason) throw new Error(reasons[reason]);
		}
		throw new Error("No answer from the access point, or no address from DHCP, within 20 s");
	}
}

const reasons = Object.freeze({
	wrong_password: "The access point rejected the password",
	no_access_point: "No access point with this name in range",
	signal_lost: "Signal lost",
	ended_by_access_point: "The access point ended the connection",
});

export function resolveName({ dns: Part }: Network, host: string): Promise<Answer<"resolve">> {
	const resolver = new Part({});
	const resolved = new Promise<Answer<"resolve">>((resolve, reject) =>
		resolver.resolve({
			host,
			onResolved: (_host, address) => resolve({ address }),
			onError: () => reject(new Error(`${host}: name not found`)),
		}),
	);
	return resolved.finally(() => resolver.close?.());
}

/** Connects like the firmware does, and closes the connection once the gateway has accepted it. */
export function reachGateway(
	{ network, model, chip }: Host,
	macAddress: string,
	{ url: text, token, ca }: RequestParams<"gateway">,
): Promise<Answer<"gateway">> {
	const url = parseGatewayUrl(text);
	return new Promise((resolve, reject) => {
		const socket = new GatewaySocket({
			part: url.isSecure ? network.wss : network.ws,
			certificate: ca,
			dns: network.dns,
			url,
			headers: [
				["Authorization", `Bearer ${token}`],
				["Device-Id", idOf(model, macAddress)],
				["Device-Model", model],
				["Device-Chip", chip],
				["Protocol-Version", "1"],
			],
			onOpen: () => {
				socket.close();
				resolve({});
			},
			onMessage: () => {},
			onDrained: () => {},
			onClosed: ({ reason }) => reject(new Error(`Gateway unreachable: ${reason}`)),
		});
	});
}

export function queryTime({ time: Part }: Network, server: string | undefined): Promise<Answer<"time">> {
	return new Promise((resolve) => {
		const query = new Part({
			server,
			onTime: (seconds) => {
				query.close();
				resolve(seconds === undefined ? {} : { seconds });
			},
		});
	});
}
