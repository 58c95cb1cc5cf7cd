/** State of a subscribed monitor, derived from its frames as a page does. */

import { checkFrame } from "../gateway/api/schemas.js";
import {
	bearer,
	type Client,
	type Frame,
	type ListedDevice,
	monitorToken,
	type RunningGateway,
	type SessionRecord,
} from "./running.js";

export class MonitorView {
	/** Every frame since the subscription was requested. */
	readonly frames: Frame[] = [];
	/** Devices by id. */
	readonly devices = new Map<string, ListedDevice>();
	/** Latest state of each device with a session record, by device id. */
	readonly states = new Map<string, unknown>();
	/** Ids in the frames since a snapshot began; undefined once it is complete. */
	#listed: Set<string> | undefined;
	isComplete = false;

	/** @param client whose frames it applies as the test reads them */
	constructor(client?: Client) {
		if (!client) return;
		client.onFrame = (frame) => {
			checkFrame(frame);
			this.frames.push(frame);
			this.apply(frame);
		};
	}

	apply(frame: Frame): void {
		if (frame.type === "status_update") for (const session of frame.sessions) this.#note(session);
		if (frame.type === "device_message" && isReport(frame.message) && frame.deviceId)
			this.states.set(frame.deviceId, frame.message);
		if (frame.type !== "summary") return;
		if (frame.reason === "snapshot") {
			this.#listed = new Set();
			this.isComplete = false;
		}
		for (const id of frame.removed ?? []) this.devices.delete(id);
		for (const device of frame.devices ?? []) {
			this.devices.set(device.deviceId, device);
			this.#listed?.add(device.deviceId);
		}
		if (frame.remaining !== 0) return;
		for (const id of [...this.devices.keys()]) if (this.#listed?.has(id) === false) this.devices.delete(id);
		this.#listed = undefined;
		this.isComplete = true;
	}

	/** Devices in the order of their ids. */
	devicesById(): readonly ListedDevice[] {
		return sorted([...this.devices.values()]);
	}

	/** Devices of `/api/devices` in the form of a summary. */
	async expected({ url }: RunningGateway): Promise<readonly ListedDevice[]> {
		const response = await fetch(`${url}/api/devices`, { headers: bearer(monitorToken) });
		const { devices }: { devices: ListedDevice[] } = JSON.parse(await response.text());
		return sorted(
			devices.map(({ sessionId: _, connectedAt: __, firstSeenAt: ___, lastSeenAt, metadata, ...rest }) => ({
				...rest,
				...(Object(metadata).otaStatus !== "idle" && { metadata }),
				...(!rest.connected && { lastSeenAt }),
			})),
		);
	}

	#note({ deviceId, state }: SessionRecord): void {
		if (deviceId !== null) this.states.set(deviceId, state);
	}
}

function sorted(devices: readonly ListedDevice[]): readonly ListedDevice[] {
	return [...devices].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1));
}

function isReport(message: unknown): boolean {
	return (
		typeof message === "object" && message !== null && "type" in message && message.type === "state_report"
	);
}
