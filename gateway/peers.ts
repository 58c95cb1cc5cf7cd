/** Interface to the other gateways of a cluster. Without NATS_URL `standalone` implements it. */

import type { Tokens } from "./access/tokens.js";
import type { Bus } from "./bus.js";
import type { Device } from "./sessions/device.js";

export interface Peers {
	/** Id of this gateway, new at each start; empty without a cluster. */
	readonly id: string;
	/** Undefined without a cluster. */
	readonly bus: Bus | undefined;
	/**
	 * Defines a query that each gateway answers for its own devices.
	 * @param name unique
	 * @param answer returns this gateway's answer
	 */
	defineQuery(name: string, answer: (text: string) => string): PeerQuery;
	/** Fetches the latest reports of these devices, or of all, from their gateways. */
	fetchReports(deviceIds?: readonly string[]): Promise<void>;
	/** Called when the monitors of this gateway may need reports of other devices. */
	onInterestChanged(): void;
	/** Synchronizes the tokens of all gateways, before they are opened. @throws {StartError} if their file is invalid */
	openTokens(tokens: Tokens, onProblem: (sentence: string) => void): Promise<void>;
	/** Called last. */
	close(): Promise<void>;
}

export interface PeerQuery {
	/** Queries the gateway to which the device is connected. @returns empty if it does not answer */
	send(device: Device, text: string): Promise<string>;
	/** Queries all gateways. @returns the answers received */
	sendToAll(text: string): Promise<readonly string[]>;
}

export const standalone: Peers = Object.freeze({
	id: "",
	bus: undefined,
	defineQuery: (_name, answer) => ({
		send: async (_device, text) => answer(text),
		sendToAll: async (text) => [answer(text)],
	}),
	fetchReports: async () => {},
	onInterestChanged: () => {},
	openTokens: async () => {},
	close: async () => {},
} satisfies Peers);
