/** Stubs of a record engine, a handshake and a device connection. */

import type { Handshake } from "../../gateway/sessions/device.js";
import type { RecordEngine } from "../../gateway/storage/records.js";

export function emptyEngine(): RecordEngine {
	return {
		each: async () => {},
		read: async () => undefined,
		write: async () => {},
		locate: (key) => key,
		problemOf: () => undefined,
		close: async () => {},
	};
}

export function makeHandshake(deviceId: string): Handshake {
	const unknown = { model: undefined, chip: undefined, features: [], remoteAddress: "", baseUrl: "" };
	return { deviceId, isBound: false, ...unknown };
}

export const silentLink = { send: () => {}, close: () => {}, isOpen: () => true };
