/** Labels of devices. Any gateway may write them, not only the one to which the device is connected. */

import { matches, object } from "../../device/protocol/schema.js";
import { type Label, type LabelChange, label, labelOf, noLabel } from "../api/label.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import type { Records } from "../storage/records.js";

/** May be empty, unlike a change. */
const keptLabel = object(label.fields);

export const labelRecord = Object.freeze({
	what: "names",
	parse: (value: unknown): Label | undefined => (matches(keptLabel, value) ? labelOf(value) : undefined),
});

export class Labels {
	readonly #core: Pick<Core, "sessions" | "events">;
	readonly #records: Records<Label>;
	/** Labels by device id, including unknown devices. */
	readonly #labels = new Map<string, Label>();
	/** Rooms from which devices were moved to their present ones since the start, by device id. */
	readonly #previousRooms = new Map<string, string | undefined>();

	constructor(core: Pick<Core, "sessions" | "records" | "events">) {
		const { sessions, records } = core;
		this.#core = core;
		this.#records = records<Label>({
			...labelRecord,
			name: "labels",
			onRecord: (deviceId, label = noLabel) => {
				this.#put(deviceId, label);
				this.#show(sessions.devices.get(deviceId));
			},
		});
	}

	readonly listeners: Listeners = {
		sessionChanged: ({ device }) => this.#show(device),
		deviceForgotten: (device, why) => {
			if (why !== "removed") void this.forget(device);
		},
	};

	/** @throws {NodeJS.ErrnoException} if its folder cannot be used */
	async open(): Promise<void> {
		await this.#records.each((deviceId, label) => this.#labels.set(deviceId, label));
		for (const device of this.#core.sessions.devices.values())
			device.label = this.#labels.get(device.deviceId) ?? noLabel;
	}

	/**
	 * Sets a label and announces `labelled`.
	 * @returns like `keep`
	 */
	set(device: Device, change: LabelChange): Promise<boolean> {
		const { room: from } = device.label;
		const next = labelOf({ ...device.label, ...change });
		this.#put(device.deviceId, next);
		// Emitted before `labelled`, so that the device keeps the quiet hours of its room.
		if (from !== undefined && next.room !== undefined && this.#isRenamed(from, next.room))
			this.#core.events.emit("roomRenamed", from, next.room);
		this.#show(device);
		return this.keep(device);
	}

	/** Whether no device is left in a room, and all devices of another one come from it. */
	#isRenamed(from: string, to: string): boolean {
		const labels = [...this.#labels];
		return (
			labels.every(([, { room }]) => room !== from) &&
			labels.every(([deviceId, { room }]) => room !== to || this.#previousRooms.get(deviceId) === from)
		);
	}

	#put(deviceId: string, label: Label): void {
		const room = this.#labels.get(deviceId)?.room;
		if (room !== label.room) this.#previousRooms.set(deviceId, room);
		this.#labels.set(deviceId, label);
	}

	/**
	 * Stores the label of a device.
	 * @returns whether it is written; if not, it is retried every second
	 */
	keep({ deviceId, label }: Device): Promise<boolean> {
		this.#labels.set(deviceId, label);
		// An empty label is stored too, as a failed removal would not be retried.
		return this.#records.save(deviceId, label);
	}

	/**
	 * Copies the label of an old board to a new one, unless it is empty.
	 * @throws {Error} if it cannot be written
	 */
	async move(from: string, to: string): Promise<void> {
		const label = this.#labels.get(from);
		if (!label || label === noLabel) return;
		this.#labels.set(to, label);
		this.#show(this.#core.sessions.devices.get(to));
		if ((await this.#records.save(to, label)) && (await this.forget({ deviceId: from }))) return;
		throw new Error(`writing the label of ${from} for ${to} failed`);
	}

	/** @returns whether its record is removed */
	forget({ deviceId }: Pick<Device, "deviceId">): Promise<boolean> {
		this.#labels.delete(deviceId);
		this.#previousRooms.delete(deviceId);
		return this.#records.remove(deviceId);
	}

	#show(device: Device | undefined): void {
		const known = device && this.#labels.get(device.deviceId);
		if (!known || device.label === known) return;
		device.label = known;
		this.#core.sessions.announce(device.session, "labelled");
	}
}
