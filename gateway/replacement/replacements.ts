/**
 * Replaced boards. A record is written before anything is moved: from then on the old board is rejected, and
 * unfinished steps are completed after the next start or by another gateway. The record keeps the old board's
 * history.
 */

import {
	checkCommand,
	commands,
	deviceId,
	type StateReport,
	uplinks,
} from "../../device/protocol/messages.js";
import {
	boolean,
	either,
	type Infer,
	keysOf,
	list,
	matches,
	object,
	optional,
	string,
} from "../../device/protocol/schema.js";
import { isUpdating } from "../api/client/words.js";
import { commandEntries, isTransferred } from "../api/commands.js";
import { endOf } from "../api/confirmation.js";
import { parseJson } from "../api/json.js";
import type { Replacement } from "../api/replacement.js";
import { time } from "../api/time.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import { closeCodes } from "../limits.js";
import { RequestError } from "../problem.js";
import type { ReplacementService } from "../services/devices.js";
import type { Device, Session } from "../sessions/device.js";
import { deviceHead, isoTime } from "../sessions/view.js";
import { jsonRecord, type Records } from "../storage/records.js";

export const replacementLimits = Object.freeze({
	/** Interval at which each gateway completes unfinished replacements, including those of a gateway that failed. */
	replacementRetryMs: 3_000,
});
/** Number of reports in which the new board should show its settings. */
const maxReports = 3;

const handedOver = keysOf(commandEntries).filter(isTransferred);
const setting = either(...handedOver.map((command) => commands[command]));

const record = object({
	by: deviceId,
	at: time,
	/** Name of a user's token. */
	who: string(64),
	/** Whether steps are unfinished. */
	isPending: optional(boolean()),
	/** Settings of the old board, until the new one has them. */
	settings: list(setting, handedOver.length),
	/** History of the old board for `GET /api/devices/<new>`, as JSON. */
	history: string(1 << 20),
});
type StoredReplacement = Infer<typeof record>;

export class Replacements implements ReplacementService {
	readonly #core: Core;
	readonly #records: Records<StoredReplacement>;
	/** Records by id of the old board. */
	readonly #replacements = new Map<string, StoredReplacement>();
	/** Ids of old boards by new boards that still need their settings. */
	readonly #unsent = new Map<string, string>();
	/** Number of reports in a session since settings were sent. */
	readonly #reports = new WeakMap<Session, number>();
	/** Running replacements by old board. */
	readonly #busy = new Map<string, Promise<boolean>>();
	#timer: NodeJS.Timeout | undefined;

	constructor(core: Core) {
		this.#core = core;
		this.#records = core.records<StoredReplacement>({
			name: "replacements",
			what: "replacement and the history",
			...jsonRecord(record),
			onRecord: (from, replacement) => this.#set(from, replacement),
		});
	}

	readonly listeners: Listeners = {
		uplink: (session, uplink) => {
			if (uplink.type === "state_report") this.#sendSettings(session, uplink);
		},
		deviceForgotten: ({ deviceId }, why) => {
			if (why === "removed" || this.#replacements.has(deviceId)) return;
			for (const [from] of this.#chainOf(deviceId)) void this.#drop(from);
		},
	};

	/** @throws {Error} if its records are unavailable */
	async open(): Promise<void> {
		await this.#records.each((from, replacement) => this.#set(from, replacement));
		const { replacementRetryMs } = { ...replacementLimits, ...this.#core.limits };
		this.#timer = setInterval(() => {
			for (const from of this.#replacements.keys()) void this.#complete(from);
		}, replacementRetryMs).unref();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
	}

	rejectionOf(deviceId: string): string | undefined {
		const by = this.replacementOf(deviceId);
		return (
			by && `${deviceId} was replaced by ${by}. It can be readmitted in the history on the page of ${by}.`
		);
	}

	replacementOf(deviceId: string): string | undefined {
		return this.#replacements.get(deviceId)?.by;
	}

	before(deviceId: string): readonly object[] {
		return this.#chainOf(deviceId).map(([from, { by, at, who, history }]) => {
			return { deviceId: from, by, at: isoTime(at), who, ...JSON.parse(history) };
		});
	}

	/**
	 * Replaces a board by another. Repeating it changes nothing.
	 * @param who name of a user's token
	 * @throws {RequestError} 404, 409, and 507 or 503 if not everything is written yet, which is retried
	 */
	async replace(from: string, by: string, who: string): Promise<Replacement> {
		const { peers, services, now, storage, sessions } = this.#core;
		const isKept = () => this.#replacements.get(from)?.by === by;
		if (!isKept()) {
			await peers.fetchReports([from]);
			const more = await services.deviceHistory?.(this.#known(from));
			if (!isKept()) {
				const old = this.#check(from, by);
				const { model, firmwareVersion, firstSeenAt, lastSeenAt } = deviceHead(old);
				const head = { ...old.label, model, firmwareVersion, firstSeenAt, lastSeenAt };
				const history = JSON.stringify({ ...head, ...more });
				this.#set(from, { by, at: now(), who, isPending: true, settings: settingsOf(old), history });
			}
		}
		const isDone = await this.#complete(from);
		const replacement = this.#replacements.get(from);
		if (replacement?.by !== by)
			throw new RequestError(409, this.rejectionOf(from) ?? `${from} is allowed to connect again.`);
		if (!isDone)
			throw new RequestError(
				storage.status,
				`${by} replaces ${from}, but not all of it could be written to ${storage.place} yet: it is tried again; the log says why.`,
			);
		const { at, settings } = replacement;
		const { model } = sessions.devices.get(by) ?? {};
		const doNotFit = settings.flatMap((setting) => checkCommand(setting, model).rejection?.message ?? []);
		return { deviceId: from, by, at: isoTime(at), settings, doNotFit };
	}

	/**
	 * Readmits a board as a new one and deletes its record.
	 * @throws {RequestError} 404, 409, 507 or 503
	 */
	async undo(from: string): Promise<void> {
		const { storage } = this.#core;
		const replacement = this.#replacements.get(from);
		if (!replacement) throw new RequestError(404, `No device has replaced ${from}.`);
		if (replacement.isPending)
			throw new RequestError(
				409,
				`The settings of ${from} are still being transferred to ${replacement.by}. Retry later.`,
			);
		if (await this.#drop(from)) return;
		this.#set(from, replacement);
		throw new RequestError(storage.status, `This could not be removed from ${storage.place}; try again.`);
	}

	/**
	 * @returns the old board
	 * @throws {RequestError} 404, 409
	 */
	#check(from: string, by: string): Device {
		const problem = (detail: string) => new RequestError(409, detail);
		if (from === by) throw problem("A device cannot replace itself.");
		const devices = [this.#known(from), this.#known(by)] as const;
		if (devices[0].session.connected)
			throw problem(`${from} is connected; switch it off before another device replaces it.`);
		for (const { deviceId, metadata } of devices) {
			const isAwaited = [...this.#replacements.values()].some(
				(replacement) => replacement.isPending && replacement.by === deviceId,
			);
			if (isAwaited)
				throw problem(
					`The settings of another device are still being transferred to ${deviceId}. Retry later.`,
				);
			if (isUpdating(metadata)) throw problem(`${deviceId} is being updated. Wait until the update ends.`);
		}
		return devices[0];
	}

	/** @throws {RequestError} 404, 409 */
	#known(deviceId: string): Device {
		const rejection = this.rejectionOf(deviceId);
		if (rejection !== undefined) throw new RequestError(409, rejection);
		return this.#core.sessions.require(deviceId);
	}

	/** @returns whether everything is written */
	async #complete(from: string): Promise<boolean> {
		const replacement = this.#replacements.get(from);
		if (!replacement?.isPending) return replacement !== undefined;
		const work = this.#busy.get(from) ?? this.#transfer(from, replacement);
		this.#busy.set(from, work);
		return work.finally(() => this.#busy.delete(from));
	}

	async #transfer(from: string, replacement: StoredReplacement): Promise<boolean> {
		const { sessions, monitors, notifyReplaced, log } = this.#core;
		try {
			// First, even if it was written before, as the steps that follow must be resumable.
			if (!(await this.#records.save(from, replacement))) return false;
			await notifyReplaced(from, replacement.by);
			const device = sessions.devices.get(from);
			if (device && !sessions.forget(device)) return false;
			monitors.sendSnapshots();
			log.info({ deviceId: replacement.by, before: from }, "device: replaces another");
			return await this.#change(from, ({ isPending: _, ...rest }) => rest);
		} catch (error) {
			log.error(
				{ deviceId: replacement.by, before: from, err: error },
				"device: replacement incomplete, retrying",
			);
			return false;
		}
	}

	/** Sends a new board the settings of the old one at the first report of a session, until a report shows them. */
	#sendSettings(session: Session, report: StateReport): void {
		const { sessionId, device } = session;
		const from = this.#unsent.get(device?.deviceId ?? "");
		const { settings } = this.#replacements.get(from ?? "") ?? {};
		if (from === undefined || !settings || report.health.safe_mode) return;
		const left = settings.filter((setting) => !endOf(setting, report, 0));
		const reports = this.#reports.get(session) ?? 0;
		this.#reports.set(session, reports + 1);
		const { execute, log } = this.#core;
		const onError = (error: unknown) => log.error({ deviceId: device?.deviceId, err: error }, "replacements");
		const isGivenUp = reports >= maxReports;
		if (isGivenUp && left.length > 0)
			log.warn({ deviceId: device?.deviceId, left }, "device: settings of the replaced board not applied");
		if (isGivenUp || left.length < settings.length)
			this.#change(from, (replacement) => ({ ...replacement, settings: isGivenUp ? [] : left })).catch(
				onError,
			);
		if (reports > 0) return;
		for (const payload of left)
			execute({ type: "control_device", targetId: sessionId, payload }).catch(onError);
	}

	/** Returns predecessors of a device, latest first, each with the id of the old board. */
	#chainOf(by: string): readonly (readonly [from: string, StoredReplacement])[] {
		const own = [...this.#replacements].filter(([, replacement]) => replacement.by === by);
		return own.flatMap((entry) => [entry, ...this.#chainOf(entry[0])]).sort(([, a], [, b]) => b.at - a.at);
	}

	/** @returns whether it is written; if not, it is retried every second */
	async #change(
		from: string,
		change: (replacement: StoredReplacement) => StoredReplacement,
	): Promise<boolean> {
		for (;;) {
			const before = this.#replacements.get(from);
			if (!before) return true;
			const next = change(before);
			this.#set(from, next);
			if (await this.#records.save(from, next)) return true;
			// Otherwise another gateway was first.
			if (this.#replacements.get(from) === next) return false;
		}
	}

	/** @returns whether its record is removed */
	#drop(from: string): Promise<boolean> {
		this.#set(from, undefined);
		return this.#records.remove(from);
	}

	/** Applies a record, and disconnects the old board. */
	#set(from: string, replacement: StoredReplacement | undefined): void {
		const before = this.#replacements.get(from);
		if (before && this.#unsent.get(before.by) === from) this.#unsent.delete(before.by);
		if (!replacement) {
			this.#replacements.delete(from);
			return;
		}
		this.#replacements.set(from, replacement);
		if (!replacement.isPending && replacement.settings.length > 0) this.#unsent.set(replacement.by, from);
		const { sessions } = this.#core;
		const device = sessions.devices.get(from);
		if (!device) return;
		const { session } = device;
		if (!session.link.isRemote)
			sessions.end(session, "disconnected", {
				code: closeCodes.policyViolation,
				reason: "the device was replaced",
			});
		if (!replacement.isPending) sessions.forget(device);
	}
}

/** Returns the settings in the latest report, except in safe mode, and except the volume during a sound, which may be the sound's. */
function settingsOf({ state }: Device): StoredReplacement["settings"] {
	const report: unknown = parseJson(state.text ?? "");
	if (!matches(uplinks.state_report, report) || report.health.safe_mode) return [];
	const isPlaying = report.peripherals.audio.current_track.startsWith("file:///sounds/");
	return handedOver.flatMap((command) => {
		const own = { command, value: commandEntries[command].reported?.(report) };
		const isHeld = matches(setting, own) && !(isPlaying && command === "set_volume");
		return isHeld && !checkCommand(own, report.system.model).rejection ? [own] : [];
	});
}
