/** Stubs of a record engine, a handshake and a device connection, and sessions without sockets. */

import { Events } from "../../gateway/events.js";
import { Device, type DeviceLink, type Handshake, Session } from "../../gateway/sessions/device.js";
import { Sessions } from "../../gateway/sessions/sessions.js";
import type { RecordEngine } from "../../gateway/storage/records.js";

export function emptyEngine(): RecordEngine {
	return {
		each: async () => {},
		read: async () => undefined,
		write: async () => {},
		locate: (key) => key,
	};
}

export function makeHandshake(deviceId: string): Handshake {
	const unknown = { model: undefined, chip: undefined, features: [], remoteAddress: "", baseUrl: "" };
	return { deviceId, isBound: false, ...unknown };
}

export const silentLink = { send: () => {}, close: () => {}, isOpen: () => true };

/** Connected device that was first seen at this time. */
export function makeDevice(deviceId: string, at = 0): Device {
	return new Device(deviceId, new Session(makeHandshake(deviceId), silentLink, at));
}

const stopped = (): number => 0;

/** Sessions on clocks that stand still by default. */
export function makeSessions({ now = stopped, monotonic = stopped, maxDevices = 10_000 } = {}) {
	const events = new Events();
	const sessions = new Sessions({ events, now, monotonic, maxDevices });
	const open = (deviceId: string, more: Partial<Handshake> = {}, link: DeviceLink = silentLink) =>
		sessions.open({ ...makeHandshake(deviceId), ...more }, link);
	return { events, sessions, open };
}
