/** Discovers the gateway that knows this device's token, by multicast DNS. The token itself is not sent (protocol/gateway-proof.ts). */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { DatagramSocket, Host } from "../host.js";
import { answerText, proofCharacters, questionText } from "../protocol/gateway-proof.js";
import { parseGatewayUrl } from "./gateway-url.js";
import { hmacSha256 } from "./hmac.js";
import { gatewayQuestion, multicast, readTexts } from "./mdns.js";
import type { Url } from "./url.js";

/** Pause before the second question; doubled after each one (RFC 6762, 5.2). */
const firstPauseMs = 1_000;
const maxPauseMs = 60_000;

export interface DiscoveryOptions {
	readonly network: Pick<Host["network"], "udp">;
	readonly sha256: Host["digest"]["sha256"];
	readonly deviceId: string;
	readonly token: string;
	/** Whether only gateways with TLS are accepted. */
	readonly isSecure: boolean;
	/** Address that is not accepted before onNotFound. */
	readonly excluded: string | undefined;
	/** Called at most once, last. @param address in the form of the setting `gateway` */
	readonly onFound: (address: string, url: Url) => void;
	/** Called after half a minute, then every minute; discovery continues. */
	readonly onNotFound: () => void;
}

export class GatewayDiscovery {
	readonly #options: DiscoveryOptions;
	readonly #nonce = randomHex() + randomHex();
	readonly #question: Uint8Array;
	#socket: DatagramSocket | undefined;
	#timer: Timer | undefined;
	#pauseMs = firstPauseMs;

	constructor(options: DiscoveryOptions) {
		this.#options = options;
		const subtype = `${this.#nonce}.${options.deviceId}`;
		const proof = this.#proofOf(questionText(this.#nonce, options.deviceId));
		this.#question = gatewayQuestion(`${subtype}.${proof}`);
		this.#query();
	}

	close(): void {
		Timer.clear(this.#timer);
		this.#socket?.close();
		this.#socket = undefined;
	}

	#query(): void {
		const { network, onNotFound } = this.#options;
		const onReadable = (count: number) => this.#onReadable(count);
		// Fails e.g. without memory for a socket.
		attempt("discovery: the question could not be sent", () => {
			if (network.udp) this.#socket ??= new network.udp({ onReadable });
			this.#socket?.write(this.#question, multicast.address, multicast.port);
		});
		this.#timer = Timer.set(() => this.#query(), this.#pauseMs);
		this.#pauseMs = Math.min(2 * this.#pauseMs, maxPauseMs);
		if (this.#pauseMs < maxPauseMs) return;
		trace("discovery: no gateway in this network has proved that it knows this device's token\n");
		onNotFound();
	}

	#onReadable(count: number): void {
		for (let left = count; left > 0; left--)
			attempt("discovery: ignoring invalid response", () => {
				const datagram = this.#socket?.read();
				if (datagram) this.#onAnswer(new Uint8Array(datagram));
			});
	}

	/** @throws Error */
	#onAnswer(bytes: Uint8Array): void {
		const { deviceId, isSecure, excluded, onFound } = this.#options;
		const texts = readTexts(bytes);
		const field = (key: string) => texts.find((text) => text.startsWith(key))?.slice(key.length) ?? "";
		const address = field("address=");
		if (field("proof=") !== this.#proofOf(answerText(this.#nonce, deviceId, address)))
			throw new Error("the sender does not know this device's token");
		const url = parseGatewayUrl(address);
		if (isSecure && !url.isSecure) throw new Error(`${address} has no TLS, which the setting ca requires`);
		if (address === excluded && this.#pauseMs < maxPauseMs) return;
		this.close();
		onFound(address, url);
	}

	#proofOf(text: string): string {
		const { sha256, token } = this.#options;
		return hmacSha256(sha256, token, text).slice(0, proofCharacters);
	}
}

function randomHex(): string {
	return Math.floor(Math.random() * 0x7fff_ffff).toString(16);
}
