/** The gateways with which this one acts as one, as its other parts know them: without NATS_URL there are none, and `alone` stands in. */

import type { Tokens } from "./access/tokens.js";
import type { Bus } from "./bus.js";
import type { Device } from "./sessions/device.js";

export interface Peers {
	/** Of this gateway; new at each start. Empty: it is alone. */
	readonly id: string;
	/** Undefined: it is alone. */
	readonly bus: Bus | undefined;
	/** The id of the gateway that a device is connected to; undefined: this one. */
	ownerOf(device: Device): string | undefined;
	/**
	 * A question that each gateway answers for its own devices.
	 * @param name as no other question has
	 * @param answer returns what this gateway answers
	 */
	question(name: string, answer: (text: string) => string): Question;
	/** Gets the latest reports of these devices, or of all, before they are shown. */
	gather(deviceIds?: readonly string[]): Promise<void>;
	/**
	 * Gets all reports for the snapshot of a new monitor; undefined: they are here.
	 * @param isWaiting false once the monitor has subscribed: then nothing is needed
	 * @param begin called when they are here
	 */
	readonly gatherFor?: (isWaiting: () => boolean, begin: () => void) => Promise<void>;
	/** What the monitors here need of devices may have changed. */
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
