/** Interface to the other gateways of a cluster. Without NATS_URL `standalone` implements it. */

import type { Tokens } from "./access/tokens.js";
import type { Bus } from "./bus.js";
import type { Device } from "./sessions/device.js";

export interface Peers {
	/** Id of this gateway, new at each start; empty without a cluster. */
	readonly id: string;
	/** Undefined without a cluster. */
	readonly bus: Bus | undefined;
	/** Returns the id of the gateway to which a device is connected; undefined: this one. */
	ownerOf(device: Device): string | undefined;
	/**
	 * Defines a query that each gateway answers for its own devices.
	 * @param name unique
	 * @param answer returns this gateway's answer
	 */
	question(name: string, answer: (text: string) => string): Question;
	/** Gets the latest reports of these devices, or of all, before they are shown. */
	gather(deviceIds?: readonly string[]): Promise<void>;
	/**
	 * Fetches all reports for the snapshot of a new monitor; undefined: this gateway has all reports.
	 * @param isWaiting false once the monitor has subscribed and needs no snapshot of all devices
	 * @param begin called when the reports are fetched
	 */
	readonly gatherFor?: (isWaiting: () => boolean, begin: () => void) => Promise<void>;
	/** Called when the devices that local monitors need may have changed. */
	onNeeds(): void;
	/** Sees to it that all have the same tokens; before they are opened. @throws {StartError} if their file is invalid */
	openTokens(tokens: Tokens, onProblem: (sentence: string) => void): Promise<void>;
	/** Called last. */
	close(): Promise<void>;
}

export interface Question {
	/** Asks the gateway that the device is connected to. @returns empty if it does not answer */
	ask(device: Device, text: string): Promise<string>;
	/** Asks all gateways. @returns the answers of those that do */
	askAll(text: string): Promise<readonly string[]>;
}

export const alone: Peers = Object.freeze({
	id: "",
	bus: undefined,
	ownerOf: () => undefined,
	question: (_name, answer) => ({
		ask: async (_device, text) => answer(text),
		askAll: async (text) => [answer(text)],
	}),
	gather: async () => {},
	onNeeds: () => {},
	openTokens: async () => {},
	close: async () => {},
} satisfies Peers);
