/**
 * Quiet hours of all devices, rooms and devices. Devices receive the resulting periods in advance, so that
 * they apply without a gateway. The id in a device's report is compared once per session, after a change, and
 * once a day.
 */

import { setTimeout } from "node:timers/promises";
import type { CommandOf } from "../../device/protocol/messages.js";
import type { Infer } from "../../device/protocol/schema.js";
import { periodsOf } from "../api/local-times.js";
import { type QuietHours, type QuietHoursRequest, storedQuietHours } from "../api/quiet-hours.js";
import { idOf } from "../digest.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import { targetsOf } from "../jobs/targets.js";
import { RequestError } from "../problem.js";
import type { Device, Session } from "../sessions/device.js";
import { isoTime } from "../sessions/view.js";
import { Store } from "./store.js";

const dayMs = 86_400_000;
/** Devices receive the periods of this length of time. */
const sentMs = 14 * dayMs;
/** Number of devices compared before each pause, as every updated device sends a report. */
const comparedAtOnce = 64;
const pauseMs = 50;
const tickMs = 1_000;

type StoredQuietHours = Infer<typeof storedQuietHours>;
type Value = CommandOf<"set_quiet">["value"];

/** Value sent to devices for a record on a given day. */
interface Sent {
	readonly day: number;
	readonly value: Value;
}

export type QuietHoursCore = Pick<
	Core,
	"now" | "log" | "records" | "storage" | "sessions" | "execute" | "events"
>;

export class QuietHoursStore {
	readonly #core: QuietHoursCore;
	readonly #zone: string;
	/** Records by an id derived from their targets. */
	readonly store: Store<typeof storedQuietHours>;
	readonly #sent = new WeakMap<StoredQuietHours, Sent>();
	/**
	 * Id of the quiet hours that a device has or was sent; null: none. Absent before its first report in this
	 * session.
	 */
	readonly #known = new WeakMap<Session, string | null>();
	#day = 0;
	#isOpen = false;
	#timer: NodeJS.Timeout | undefined;

	/** @param zone IANA name of the gateway's time zone */
	constructor(core: QuietHoursCore, zone: string) {
		this.#core = core;
		this.#zone = zone;
		this.store = new Store({
			core,
			name: "quiet-hours",
			noun: "set of quiet hours",
			schema: storedQuietHours,
			onChange: () => {
				core.events.emit("quietHoursChanged");
				void this.#compareAll();
			},
		});
	}

	readonly listeners: Listeners = {
		uplink: (session, uplink) => {
			const { device } = session;
			if (uplink.type === "state_report") {
				if (!device || this.#known.has(session)) return;
				this.#known.set(session, uplink.quiet?.id ?? null);
				this.#compare(device);
			} else if (uplink.type === "command_error" && uplink.command === "set_quiet") {
				this.#core.log.warn({ deviceId: device?.deviceId, problem: uplink.message }, "quiet hours");
				// Sent again after the next report.
				if (uplink.code === "busy") this.#known.delete(session);
			}
		},
		ownSessionChanged: ({ device }, reason) => {
			if (device && reason === "labelled") this.#compare(device);
		},
		deviceForgotten: ({ deviceId }, why) => {
			const id = keyOf({ device: deviceId });
			if (why !== "removed" && this.store.all.has(id)) void this.store.drop(id);
		},
	};

	/** @throws {Error} if its records are unavailable */
	async open(): Promise<void> {
		await this.store.open();
		// Without its records, it would end the quiet hours of devices.
		this.#isOpen = true;
		this.tick();
		this.#timer = setInterval(() => this.tick(), tickMs).unref();
	}

	close(): void {
		this.#isOpen = false;
		clearInterval(this.#timer);
	}

	/** Returns those of all devices, then of rooms, then of devices. */
	list(): readonly QuietHours[] {
		const order = ({ targets: { all, room, device } }: StoredQuietHours) =>
			`${all ? 0 : device ? 2 : 1} ${room ?? device}`;
		const sorted = [...this.store.all].sort(([, a], [, b]) => order(a).localeCompare(order(b), "en"));
		return sorted.map(([id, record]) => this.#describe(id, record));
	}

	/** Returns the quiet hours that apply to a device: its own, otherwise its room's, otherwise those of all. */
	of({ deviceId, label: { room } }: Device): StoredQuietHours | undefined {
		const at = (targets: QuietHoursRequest["targets"]) => this.store.all.get(keyOf(targets));
		return at({ device: deviceId }) ?? (room === undefined ? undefined : at({ room })) ?? at({ all: true });
	}

	/**
	 * Replaces the quiet hours of the same targets.
	 * @param by name of a user's token; null: another program
	 * @throws {RequestError} 422, and 507 or 503 if they are in force but not stored yet
	 */
	async set(request: QuietHoursRequest, by: string | null): Promise<QuietHours> {
		const id = this.#check(request);
		const changedAt = isoTime(this.#core.now());
		const record = { ...request, on: request.on ?? true, by, changedAt };
		if (await this.store.save(id, record)) return this.#describe(id, record);
		throw this.store.failure("is active, but not yet written to", "Writing is retried every second");
	}

	/** Gives a renamed room the quiet hours of its previous name, unless it has its own. @throws {RequestError} like `move` */
	async renameRoom(from: string, to: string): Promise<void> {
		if (!this.store.all.has(keyOf({ room: to }))) await this.move({ room: from }, { room: to });
	}

	/**
	 * Moves quiet hours to other targets, such as from an old board to a new one, if there are any.
	 * @throws {RequestError} if they are not written
	 */
	async move(from: QuietHoursRequest["targets"], targets: QuietHoursRequest["targets"]): Promise<void> {
		const record = this.store.all.get(keyOf(from));
		if (!record) return;
		const isMoved =
			(await this.store.save(keyOf(targets), { ...record, targets })) && (await this.store.drop(keyOf(from)));
		if (!isMoved) throw this.store.failure("could not be written to", "Writing is retried");
	}

	/** Sends devices the periods of a new day. */
	tick(): void {
		const day = this.#today();
		if (day === this.#day) return;
		this.#day = day;
		void this.#compareAll();
	}

	/**
	 * @returns its id
	 * @throws {RequestError} 422
	 */
	#check({ targets, volume, brightness, onlyUrgent }: QuietHoursRequest): string {
		const { all, room, device } = targets;
		if ([all || undefined, room || undefined, device].filter((target) => target !== undefined).length !== 1)
			throw new RequestError(
				422,
				'targets is one of {"all": true}, {"room": "Kitchen"} and {"device": "dev-1-7cdfa1a1b2c3"}.',
			);
		if (volume === undefined && brightness === undefined && !onlyUrgent)
			throw new RequestError(422, "At least one limit is required: volume, brightness or onlyUrgent.");
		const id = keyOf(targets);
		if (this.store.all.has(id)) return id;
		const { devices } = this.#core.sessions;
		if (room !== undefined) targetsOf(devices, { room });
		if (device !== undefined && !devices.has(device))
			throw new RequestError(422, `targets: device ${device} not found. GET /api/devices lists all.`);
		return id;
	}

	#describe(id: string, record: StoredQuietHours): QuietHours {
		const now = this.#core.now();
		const [period] = record.on ? periodsOf(record, this.#zone, now, now + 1) : [];
		const holdsUntil = period ? isoTime(period.until) : null;
		return { id, ...record, zone: this.#zone, holdsUntil };
	}

	/** Whole days since 1970 in UTC, so that all gateways send the same. */
	#today(): number {
		return Math.floor(this.#core.now() / dayMs);
	}

	async #compareAll(): Promise<void> {
		if (!this.#isOpen) return;
		let count = 0;
		for (const device of [...this.#core.sessions.devices.values()]) {
			this.#compare(device);
			count += 1;
			if (count % comparedAtOnce === 0) await setTimeout(pauseMs, undefined, { ref: false });
		}
	}

	/** Sends a device of this gateway its quiet hours if it has different ones. */
	#compare(device: Device): void {
		const { session, deviceId } = device;
		const known = this.#known.get(session);
		const isEligible = session.isReachable && session.handshake.features.includes("quiet");
		if (!this.#isOpen || known === undefined || !isEligible) return;
		const record = this.of(device);
		const value = record?.on ? this.#valueOf(record) : null;
		if (known === (value?.id ?? null)) return;
		this.#known.set(session, value?.id ?? null);
		const { execute, log } = this.#core;
		const payload = { command: "set_quiet", value };
		execute({ type: "control_device", targetId: session.sessionId, payload })
			.then(({ rejection }) => rejection && log.warn({ deviceId, problem: rejection.message }, "quiet hours"))
			.catch((error: unknown) => log.error({ deviceId, err: error }, "quiet hours"));
	}

	/** Computes the value of a record, once a day. */
	#valueOf(record: StoredQuietHours): Value {
		const day = this.#today();
		const sent = this.#sent.get(record);
		if (sent?.day === day) return sent.value;
		const { volume, brightness, onlyUrgent } = record;
		const rest = {
			periods: periodsOf(record, this.#zone, day * dayMs, day * dayMs + sentMs).map(({ from, until }) => {
				return { from: from / 1000, until: until / 1000 };
			}),
			...(volume !== undefined && { volume }),
			...(brightness !== undefined && { brightness }),
			...(onlyUrgent && { only_urgent: true }),
		};
		const value = rest.periods.length === 0 ? null : { id: idOf(JSON.stringify(rest)), ...rest };
		this.#sent.set(record, { day, value });
		return value;
	}
}

/** @returns the same id for equal targets */
function keyOf({ all, room, device }: QuietHoursRequest["targets"]): string {
	if (all) return idOf("all");
	return idOf(room === undefined ? `device ${device}` : `room ${room}`);
}
