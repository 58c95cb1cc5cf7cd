/**
 * Records what each device ran and executed and which updates were acknowledged, and compares that with the gateway's
 * reports.
 */

import { checkUplink } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import type { FrameOf } from "../../gateway/api/frames.js";
import type { SessionRecord } from "../../gateway/api/session.js";
import { firstVersion, uploadsMajor } from "./images.js";
import type { Journal } from "./journal.js";

/** The gateway's timeout for an update without messages. */
export const silenceMs = 5 * 60_000;

export class DeviceRecord {
	readonly deviceId: string;
	readonly model: Model;
	runs = firstVersion;
	readonly ran = new Set([firstVersion]);
	readonly rolledBack = new Set<string>();
	/** Number of releases to which it was updated. */
	releases = 0;
	/**
	 * Versions of the updates acknowledged since the gateway was last requested to forget the device, in order; undefined:
	 * the upload at that time.
	 */
	accepted: (string | undefined)[] = [];
	/** Whether the gateway has acknowledged something that must be on disk. */
	isKept = false;
	/** Whether the gateway has confirmed that it forgot the device, which has not connected since. */
	isForgotten = false;
	/** Time of the first request of an update by version ("custom": the upload), in milliseconds of this process. */
	readonly askedAt = new Map<string, number>();
	/** Received `start_ota` commands by the version of a rollout. */
	readonly offers = new Map<string, number>();
	/** Whether its update records were damaged: the gateway does not know what it has sent. */
	hasLostUpdates = false;
	/** Time of the device's last message about an update, in milliseconds of this process. */
	updateHeardAt = Number.NEGATIVE_INFINITY;
	/** Executed values; each is sent once. */
	readonly executed = new Set<number>();

	constructor(deviceId: string, model: Model) {
		this.deviceId = deviceId;
		this.model = model;
	}

	/** Starts this firmware. */
	boot(version: string): void {
		this.runs = version;
		this.ran.add(version);
	}
}

/** Update in `/api/devices/<id>`. */
export interface ReportedUpdate {
	readonly status: string;
	readonly version: string | null;
	readonly reason: string | null;
}

const updatesKept = 10;

export class Ledger {
	readonly devices: ReadonlyMap<string, DeviceRecord>;
	/** Versions sent to /ota/upload in order, and their number when one was last acknowledged. */
	readonly uploads: string[] = [];
	uploadsKept = 0;
	/** Whether its files were damaged and may be lost. */
	isUploadLost = false;
	/** Whether the gateway's clock was advanced beyond the real time. */
	hasTimePassed = false;
	readonly #journal: Journal;

	constructor(devices: readonly DeviceRecord[], journal: Journal) {
		this.devices = new Map(devices.map((device) => [device.deviceId, device]));
		this.#journal = journal;
	}

	/** Compares a session record of a monitor with the device's own. */
	checkSession({ deviceId, firmwareVersion, metadata }: Omit<SessionRecord, "state">): void {
		const record = this.devices.get(deviceId ?? "");
		if (!record) {
			if (deviceId !== null) this.#journal.break(`the gateway reports ${deviceId}, which does not exist`);
			return;
		}
		if (firmwareVersion !== null && !record.ran.has(firmwareVersion))
			this.#journal.break(`${deviceId} is reported with ${firmwareVersion}, but never ran it`);
		const { otaStatus, otaVersion, otaReason } = metadata;
		this.#checkUpdate(record, { status: otaStatus, version: otaVersion, reason: otaReason });
	}

	/** Compares a relayed uplink with what a device can have sent. */
	checkMessage({ deviceId, message }: FrameOf<"device_message">): void {
		const { problem } = checkUplink(message);
		const record = this.devices.get(deviceId ?? "");
		if (record && message.type.startsWith("ota_")) record.updateHeardAt = performance.now();
		if (problem) this.#journal.break(`an invalid uplink was relayed: ${problem}`);
		else if ("deviceId" in message && message.deviceId !== deviceId)
			this.#journal.break(`${deviceId} is reported as the sender of a message of ${message.deviceId}`);
	}

	/** Compares the gateway's list of a device's updates with the device's record. */
	checkHistory(record: DeviceRecord, updates: readonly ReportedUpdate[]): void {
		for (const update of updates) this.#checkUpdate(record, update);
		// Their order is insignificant: an update that is rolled back late becomes the latest again.
		const left = [...updates];
		for (const version of record.accepted.slice(-updatesKept).reverse()) {
			const at = left.findLastIndex((update) => isFor(update, version));
			if (at >= 0) left.splice(at, 1);
			else if (updates.length < updatesKept)
				return this.#journal.break(
					`${record.deviceId}: the accepted update to ${version ?? "the upload"} is lost; the gateway knows of ${JSON.stringify(updates)}`,
				);
		}
	}

	#checkUpdate({ deviceId, ran, rolledBack, askedAt }: DeviceRecord, update: ReportedUpdate): void {
		const { status, version, reason } = update;
		if (status === "updated" && !ran.has(version ?? ""))
			this.#journal.break(`${deviceId} is reported as updated to ${version}, but never ran it`);
		// If an upload was replaced meanwhile, the gateway cannot know which one the device received.
		const hasGoneBack = [...rolledBack].some(
			(known) => known === version || (isUpload(known) && isUpload(version)),
		);
		if (status === "rolled_back" && !hasGoneBack)
			this.#journal.break(`${deviceId} is reported as rolled back from ${version}, but never was`);
		if (status === "failed" && reason?.includes("no message for") && !this.hasTimePassed) {
			const since = askedAt.get(version ?? "") ?? askedAt.get("custom") ?? Number.NEGATIVE_INFINITY;
			if (performance.now() - since < silenceMs)
				this.#journal.break(`${deviceId}: the update to ${version} timed out too early: ${reason}`);
		}
	}
}

/** @param version undefined: that of an upload */
function isFor(update: ReportedUpdate, version: string | undefined): boolean {
	return version === undefined ? isUpload(update.version) : update.version === version;
}

function isUpload(version: string | null): boolean {
	return version?.startsWith(uploadsMajor) === true;
}
