/**
 * Issues of devices, and which of them were seen. Seen marks are shared by all users, stored as one record
 * per device with a time per kind; an issue after that time is unseen. A time ahead of the clock counts as
 * unknown, as the clock was wrong.
 */

import { type Infer, keysOf, object, optional } from "../../device/protocol/schema.js";
import { hasFailed, signalBars } from "../api/client/words.js";
import { type DeviceIssue, type DeviceIssueKind, deviceIssueKinds, type seenRequest } from "../api/issues.js";
import { isAhead, time } from "../api/time.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import { isoTime } from "../sessions/view.js";
import { jsonRecord, type Records } from "../storage/records.js";
import type { CrashStore } from "./crash-store.js";

/** Times at which each kind was marked as seen, in milliseconds since 1970. */
type SeenMarks = Readonly<Partial<Record<DeviceIssueKind, number>>>;
const seenRecord = object(Object.fromEntries(deviceIssueKinds.map((kind) => [kind, optional(time)])));

/** Current issue of a device. */
interface KnownIssue extends Pick<DeviceIssue, "kind" | "count" | "reason"> {
	/** Milliseconds since 1970; null: unknown. */
	readonly since: number | null;
}

/**
 * Issues that last while the device reports them. Each function returns the reason, which may be empty, or
 * undefined.
 */
const reported = {
	weak_signal: ({ rssi }) => (rssi !== null && signalBars(rssi) <= 1 ? "" : undefined),
	faulty: ({ fault }) => fault,
	safe_mode: ({ safeMode }) => (safeMode ? "" : undefined),
} as const satisfies Readonly<
	Partial<Record<DeviceIssueKind, (vitals: Device["vitals"]) => string | undefined>>
>;
const reportedKinds = keysOf(reported);

/** Maximum number of items per turn of the event loop. */
const itemsAtOnce = 200;
const oftenRestarts = 3;
const oftenMs = 24 * 60 * 60 * 1000;
/** Reset reason after a restart command or an update. */
const ownRestart = "SW_RESET";

export interface IssuesOptions {
	readonly core: Pick<Core, "records" | "events" | "sessions" | "now" | "yieldToLoop"> & {
		readonly firmware: { readonly updates: Pick<Core["firmware"]["updates"], "historyOf"> };
	};
	readonly crashes: Pick<CrashStore, "headsOf">;
}

export class Issues {
	readonly #options: IssuesOptions;
	readonly #records: Records<SeenMarks>;
	readonly #seen = new Map<string, SeenMarks>();
	/** Issues in the latest vitals of each device, by its id. `since` is null if one began before this gateway's start. */
	readonly #reported = new Map<
		string,
		{ readonly vitals: Device["vitals"]; readonly issues: readonly KnownIssue[] }
	>();

	readonly listeners: Listeners = {
		uplink: ({ device }, { type }) => {
			if (device && type === "state_report") this.#trackReported(device, this.#options.core.now());
		},
		deviceChanged: (device) => this.#trackReported(device, this.#options.core.now()),
		deviceForgotten: ({ deviceId }, why) => {
			this.#reported.delete(deviceId);
			if (this.#seen.delete(deviceId) && why !== "removed") void this.#records.remove(deviceId);
		},
	};

	constructor(options: IssuesOptions) {
		this.#options = options;
		this.#records = options.core.records<SeenMarks>({
			name: "seen",
			what: "seen marks of issues",
			...jsonRecord(seenRecord),
			onRecord: (deviceId, seen) => this.#setSeen(deviceId, seen),
		});
	}

	/** @throws {NodeJS.ErrnoException} if its folder cannot be used */
	async open(): Promise<void> {
		await this.#records.each((deviceId, seen) => this.#seen.set(deviceId, seen));
		for (const device of this.#options.core.sessions.devices.values()) this.#trackReported(device, null);
	}

	/** @param seen undefined: none, as their record was removed */
	#setSeen(deviceId: string, seen: SeenMarks | undefined): void {
		if (seen) this.#seen.set(deviceId, seen);
		else this.#seen.delete(deviceId);
		const device = this.#options.core.sessions.devices.get(deviceId);
		if (device) this.#options.core.events.emit("deviceChanged", device);
	}

	/** @returns the field `attention` of a device, or no field without issues */
	of(device: Device): { readonly attention?: readonly DeviceIssue[] } {
		const found = this.#find(device);
		if (found.length === 0) return {};
		const now = this.#options.core.now();
		const marks = this.#seen.get(device.deviceId);
		const attention = found.map(({ kind, since, reason, ...rest }) => {
			const mark = marks?.[kind];
			return {
				kind,
				since: since === null ? null : isoTime(since),
				seen: mark !== undefined && mark >= (since ?? mark) && !isAhead(mark, now),
				...rest,
				...(reason && { reason }),
			};
		});
		return { attention };
	}

	/**
	 * Marks issues as seen, ignoring unknown devices and ended issues.
	 * @returns whether the marks are stored
	 */
	async see(items: Infer<typeof seenRequest>["items"]): Promise<boolean> {
		const { core } = this.#options;
		const changed = new Map<string, SeenMarks>();
		for (const [index, { kind, id, since }] of items.entries()) {
			if (index % itemsAtOnce === itemsAtOnce - 1) await core.yieldToLoop();
			if (kind === "rejected" || kind === "crash_new") continue;
			const device = core.sessions.devices.get(id);
			const found = device && this.#find(device).find((issue) => issue.kind === kind);
			// An issue that recurred after it was shown stays unseen.
			if (!found || (found.since ?? 0) > (since ? Date.parse(since) : 0)) continue;
			// In a cluster, another gateway may learn of it slightly later.
			const seen = Math.max(core.now(), found.since ?? 0);
			changed.set(id, { ...(changed.get(id) ?? this.#seen.get(id)), [kind]: seen });
		}
		const kept: Promise<boolean>[] = [];
		for (const [id, seen] of changed) {
			if (kept.length % itemsAtOnce === itemsAtOnce - 1) await core.yieldToLoop();
			this.#setSeen(id, seen);
			kept.push(this.#records.save(id, seen));
		}
		return (await Promise.all(kept)).every(Boolean);
	}

	/** Records since when a device reports its issues. */
	#trackReported({ deviceId, vitals }: Device, now: number | null): void {
		const before = this.#reported.get(deviceId);
		// Most reports leave the vitals as they were.
		if (before?.vitals === vitals) return;
		const issues = reportedKinds.flatMap((kind): readonly KnownIssue[] => {
			const reason = reported[kind](vitals);
			if (reason === undefined) return [];
			const known = before?.issues.find((issue) => issue.kind === kind && issue.reason === reason);
			return [known ?? { kind, since: now, reason }];
		});
		this.#reported.set(deviceId, { vitals, issues });
	}

	#find(device: Device): readonly KnownIssue[] {
		const { core, crashes } = this.#options;
		const { deviceId, session, firmwareVersion, resets, metadata } = device;
		const now = core.now();
		const found: KnownIssue[] = [];
		const ofThis = crashes.headsOf(device).filter(({ version }) => version === firmwareVersion);
		const crash = ofThis.at(-1);
		if (crash) found.push({ kind: "crashed", since: crash.at, count: ofThis.length, reason: crash.kind });
		if (hasFailed(metadata)) {
			const { endedAt = null } = core.firmware.updates.historyOf(deviceId).at(-1) ?? {};
			const kind = metadata.otaStatus === "failed" ? "update_failed" : "rolled_back";
			found.push({ kind, since: endedAt });
		}
		if (session.connected) found.push(...(this.#reported.get(deviceId)?.issues ?? []));
		else found.push({ kind: "away", since: session.lastSeenAt });
		const duplicate = device.duplicateAt(now);
		if (duplicate) {
			const { since, reason } = duplicate;
			found.push({ kind: "duplicate_id", since, reason });
		}
		const recent = resets.filter(
			({ reason, at }) => reason !== ownRestart && at > now - oftenMs && !isAhead(at, now),
		);
		const reset = recent.at(-1);
		if (reset && recent.length >= oftenRestarts)
			found.push({ kind: "often_restarted", since: reset.at, count: recent.length, reason: reset.reason });
		return found
			.map((issue) => (issue.since !== null && isAhead(issue.since, now) ? { ...issue, since: null } : issue))
			.sort((a, b) => deviceIssueKinds.indexOf(a.kind) - deviceIssueKinds.indexOf(b.kind));
	}
}
