/** What is true, as against what the gateway says: what each device ran, was promised and obeyed. */

import { checkUplink } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import type { DeviceMessage, SessionRecord } from "../../gateway/dashboard/page/model/messages.js";
import { firstVersion, uploadsMajor } from "./images.js";
import type { Journal } from "./journal.js";

/** The gateway gives up on an update of which it heard nothing for so long. */
export const silenceMs = 5 * 60_000;

/** An update that the gateway has acknowledged. */
interface Accepted {
	/** Undefined: the upload of that moment. */
	readonly version: string | undefined;
}

/** The truth about one device. */
export class DeviceTruth {
	readonly deviceId: string;
	readonly model: Model;
	runs = firstVersion;
	readonly ran = new Set([firstVersion]);
	readonly rolledBack = new Set<string>();
	/** Since the gateway was last asked to forget the device; the latest last. */
	accepted: Accepted[] = [];
	/** The gateway has it on disk for certain. */
	isKept = false;
	/** The gateway has confirmed that it forgot it, and it has not connected since. */
	isForgotten = false;
	/** When an update was first asked for, by its version ("custom": the upload), in milliseconds of this process. */
	readonly askedAt = new Map<string, number>();
	/** When it last said something about an update; milliseconds of this process. */
	updateHeardAt = Number.NEGATIVE_INFINITY;
	/** The values that it was set to; each is sent once. */
	readonly obeyed = new Set<number>();

	constructor(deviceId: string, model: Model) {
		this.deviceId = deviceId;
		this.model = model;
	}

	/** It starts this firmware. */
	boot(version: string): void {
		this.runs = version;
		this.ran.add(version);
	}
}

/** An update as `/api/devices/<id>` tells of it. */
export interface ToldUpdate {
	readonly status: string;
	readonly version: string | null;
	readonly reason: string | null;
}

const updatesKept = 10;

export class Ledger {
	readonly devices: ReadonlyMap<string, DeviceTruth>;
	/** Versions that were sent to /ota/upload, in their order, and how many there were when one was last acknowledged. */
	readonly uploads: string[] = [];
	uploadsKept = 0;
	/** The upload's files were damaged: it may be gone. */
	isUploadLost = false;
	/** The gateway was told that time has passed which did not. */
	hasTimePassed = false;
	readonly #journal: Journal;

	constructor(devices: readonly DeviceTruth[], journal: Journal) {
		this.devices = new Map(devices.map((device) => [device.deviceId, device]));
		this.#journal = journal;
	}

	/** Holds a session record that a monitor was sent against the truth. */
	checkSession({ deviceId, firmwareVersion, metadata }: Omit<SessionRecord, "state">): void {
		const truth = this.devices.get(deviceId ?? "");
		if (!truth) {
			if (deviceId !== null) this.#journal.break(`the gateway tells of ${deviceId}, which does not exist`);
			return;
		}
		if (firmwareVersion !== null && !truth.ran.has(firmwareVersion))
			this.#journal.break(`${deviceId} is said to run ${firmwareVersion}, and never did`);
		const { otaStatus, otaVersion, otaReason } = metadata;
		this.#checkUpdate(truth, { status: otaStatus, version: otaVersion, reason: otaReason });
	}

	/** Holds what a monitor was relayed against what a device can have said. */
	checkMessage({ deviceId, message }: DeviceMessage): void {
		const { problem } = checkUplink(message);
		const truth = this.devices.get(deviceId ?? "");
		if (truth && message.type.startsWith("ota_")) truth.updateHeardAt = performance.now();
		if (problem) this.#journal.break(`an uplink that is not valid was relayed: ${problem}`);
		else if ("deviceId" in message && message.deviceId !== deviceId)
			this.#journal.break(`${deviceId} is said to have said what ${message.deviceId} did`);
	}

	/** Holds all that is told of a device's updates against the truth. */
	checkHistory(truth: DeviceTruth, updates: readonly ToldUpdate[]): void {
		for (const update of updates) this.#checkUpdate(truth, update);
		// An update that is rolled back late becomes the latest again: their order says nothing.
		const left = [...updates];
		for (const { version } of truth.accepted.slice(-updatesKept).reverse()) {
			const at = left.findLastIndex((update) => isFor(update, version));
			if (at >= 0) left.splice(at, 1);
			else if (updates.length < updatesKept) return this.#tellLost(truth, version, updates);
		}
	}

	#tellLost({ deviceId }: DeviceTruth, version: string | undefined, updates: readonly ToldUpdate[]): void {
		const said = `the gateway knows of ${JSON.stringify(updates)}`;
		this.#journal.break(`${deviceId}: the accepted update to ${version ?? "the upload"} is lost; ${said}`);
	}

	#checkUpdate({ deviceId, ran, rolledBack, askedAt }: DeviceTruth, update: ToldUpdate): void {
		const { status, version, reason } = update;
		if (status === "updated" && !ran.has(version ?? ""))
			this.#journal.break(`${deviceId} is said to be updated to ${version}, and never ran it`);
		// Of an upload that was replaced meanwhile the gateway cannot know which one the device got.
		const hasGoneBack = [...rolledBack].some(
			(each) => each === version || (isUpload(each) && isUpload(version)),
		);
		if (status === "rolled_back" && !hasGoneBack)
			this.#journal.break(`${deviceId} is said to have gone back from ${version}, and never did`);
		if (status === "failed" && reason?.includes("nothing was heard") && !this.hasTimePassed) {
			const since = askedAt.get(version ?? "") ?? askedAt.get("custom") ?? Number.NEGATIVE_INFINITY;
			if (performance.now() - since < silenceMs)
				this.#journal.break(`${deviceId}: the update to ${version} was given up before its time: ${reason}`);
		}
	}
}

/** @param version undefined: an upload's */
function isFor(update: ToldUpdate, version: string | undefined): boolean {
	return version === undefined ? isUpload(update.version) : update.version === version;
}

function isUpload(version: string | null): boolean {
	return version?.startsWith(uploadsMajor) === true;
}
