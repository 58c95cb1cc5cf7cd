/**
 * Cluster membership of this gateway: tracks the other gateways, their sessions, and the devices that its own
 * monitors need from them. Not created without NATS_URL.
 */

import { isDeepStrictEqual } from "node:util";
import type { Uplink } from "../../device/protocol/messages.js";
import { frameText } from "../api/frames.js";
import { type Bus, BusError, subjectOf } from "../bus.js";
import { sha256Of } from "../digest.js";
import type { Listeners } from "../events.js";
import type { Core, Extension } from "../extension.js";
import type { Session } from "../sessions/device.js";
import { type MonitorMessage, type Outcome, rejectMessage } from "../sockets/monitor-commands.js";
import type { Unsubscribe } from "../storage/log.js";
import type { Metrics } from "../telemetry/metrics.js";
import { Directory } from "./directory.js";
import { type Member, Members, noInterest } from "./members.js";
import { type Heartbeat, heartbeat, type Interest, read } from "./messages.js";
import { MirrorLink } from "./mirror-link.js";
import { createMirrors } from "./mirrors.js";
import { Relay, type RelayedUplink, readRelayed } from "./relay.js";
import { Reports } from "./reports.js";

export interface ClusterCore
	extends Pick<Core, "sessions" | "events" | "metrics" | "name" | "now" | "monotonic" | "execute"> {
	readonly log: Pick<Core["log"], "info" | "warn" | "error">;
	readonly firmware: { readonly catalog: Pick<Core["firmware"]["catalog"], "read"> };
	readonly monitors: Pick<Core["monitors"], "subscriptions" | "broadcast">;
	readonly peers: Pick<Core["peers"], "id">;
	readonly limits: Readonly<Record<string, number>>;
}

/** Heartbeat interval. A gateway that misses three counts as down. */
const defaultBeatMs = 2_000;
const beatsMissed = 3;
/** Longer than selecting an image and writing the update to disk takes. */
const commandMs = 8_000;
/** Limit of device ids in a heartbeat. More count as all. */
const maxNamedDevices = 5_000;

export class Cluster implements Extension {
	readonly #core: ClusterCore;
	readonly #bus: Bus;
	/** Id of this gateway, new at each start. */
	readonly #id: string;
	readonly #beatMs: number;
	readonly #publishes: ReturnType<Metrics["counter"]>;
	readonly #members: Members;
	readonly #latestReports: Reports;
	readonly #mirrors: ReturnType<typeof createMirrors>;
	readonly #directory: Directory;
	readonly #relay = new Relay((text) => this.#publish("report", ["reports", this.#id], text));
	readonly listeners: readonly Listeners[];
	readonly #subscriptions: Unsubscribe[] = [];
	/** Set only while monitors here need reports. */
	#reports: Unsubscribe | undefined;
	#interest = noInterest;
	#timer: NodeJS.Timeout | undefined;
	#tickedAt = 0;
	#isBeatPlanned = false;
	#announced = "";
	/** Digest of this gateway's catalog. */
	#releases: string | undefined;
	#doReleasesDiffer = false;

	constructor(core: ClusterCore, bus: Bus) {
		const { events, sessions, metrics, monotonic, log, peers } = core;
		this.#core = core;
		this.#bus = bus;
		this.#id = peers.id;
		this.#beatMs = core.limits.gatewayBeatMs ?? defaultBeatMs;
		this.#publishes = metrics.counter("gateway_bus_publishes_total", "Messages to other gateways", {
			kind: ["beat", "report", "session"],
		});
		this.#members = new Members({
			...core,
			silenceMs: beatsMissed * this.#beatMs,
			onUp: (member) => {
				this.#sendHeartbeat();
				this.#announce();
				void this.#mirrors.onMember(member, true);
			},
			onDown: (member) => {
				void this.#mirrors.onMember(member, false);
				this.#announce();
			},
		});
		const onError = (error: unknown) => log.error({ err: error }, "ignoring invalid data of another gateway");
		const shared = { bus, events, sessions, monotonic, members: this.#members, onError };
		this.#latestReports = new Reports(shared);
		this.#mirrors = createMirrors(shared, this.#latestReports);
		this.#directory = new Directory({
			bus,
			id: this.#id,
			relay: this.#relay,
			onEntry: (entry) => this.#mirrors.applyEntry(entry),
			onWrite: () => this.#publishes.inc({ kind: "session" }),
			onError,
			onProblem: (problem) => log.warn({ problem }, "device directory"),
		});
		this.listeners = [this.#directory.listeners, { uplink: (...uplink) => this.#onOwnUplink(...uplink) }];
		metrics.watch("gateway_cluster_gateways", "Gateways in the cluster", () => 1 + this.#members.up.length);
	}

	/** Resolves once this gateway knows the other gateways and all devices. */
	async open(): Promise<void> {
		const [bus, id] = [this.#bus, this.#id];
		this.#subscriptions.push(
			bus.subscribe(
				"gw.hb.*",
				this.#guarded((text) => this.#onHeartbeat(read(heartbeat, text))),
			),
			bus.serve(subjectOf("gw", "states", id), async (text) => {
				this.#relay.flush();
				return this.#latestReports.describe(id, JSON.parse(text));
			}),
			bus.serve(subjectOf("gw", "cmd", id), async (text) =>
				JSON.stringify(await this.#executeHere(JSON.parse(text))),
			),
			bus.onStatus((isConnected) => {
				this.#sendHeartbeat();
				if (isConnected) void this.#latestReports.refresh();
				this.#announce();
			}),
		);
		this.#tickedAt = this.#core.monotonic();
		this.#timer = setInterval(() => this.#tick(), this.#beatMs).unref();
		this.#sendHeartbeat();
		await new Promise((resolve) => setTimeout(resolve, this.#beatMs / 8));
		await this.#directory.open();
	}

	/** Announces that this gateway stops, after its sessions have ended. */
	async close(): Promise<void> {
		clearInterval(this.#timer);
		this.#publish("beat", ["hb", this.#id], { ...this.#heartbeat(), isLeaving: true });
		this.#reports?.();
		this.#directory.close();
		for (const unsubscribe of this.#subscriptions) unsubscribe();
	}

	readonly channels = { cluster: () => [this.#frame()] };

	/** Forwards a monitor's message for a device of another gateway. */
	intercept(message: MonitorMessage, { link }: Session): Promise<Outcome> | undefined {
		return link instanceof MirrorLink && link.member ? this.#forward(link.member, message) : undefined;
	}

	/** Must be called when the interest of monitors may have changed. */
	onInterest(): void {
		if (this.#isBeatPlanned) return;
		this.#isBeatPlanned = true;
		setImmediate(() => {
			this.#isBeatPlanned = false;
			this.#announceInterest();
		});
	}

	/** Requests the latest reports of these devices, or of all, from other gateways. */
	gather(ids?: readonly string[]): Promise<void> {
		this.#announceInterest();
		return this.#latestReports.gather(ids);
	}

	/** Ids of the other gateways that are up. */
	get others(): readonly string[] {
		return this.#members.up.map(({ id }) => id);
	}

	#onOwnUplink(session: Session, { type }: Uplink, text: Buffer): void {
		const { device } = session;
		const isStateReport = type === "state_report";
		if (device && isStateReport) this.#directory.onReport(device, this.#members.isSummaryNeeded);
		if (device && this.#members.needsUplinks(device))
			this.#directory.relay(session, text.toString(), isStateReport);
	}

	/** Executes a message from another gateway, which must not be forwarded to a third one. */
	async #executeHere(message: MonitorMessage): Promise<Outcome> {
		const session = this.#core.sessions.find(message.targetId);
		if (!session?.link.isRemote) return this.#core.execute(message);
		return rejectMessage(
			"target_offline",
			`${message.targetId} is not connected; wait for its next status_update`,
		);
	}

	/** The device's gateway must first learn that its uplinks are needed here. */
	async #forward({ id, name }: Member, message: MonitorMessage): Promise<Outcome> {
		this.#announceInterest();
		try {
			const subject = subjectOf("gw", "cmd", id);
			return JSON.parse(await this.#bus.request(subject, JSON.stringify(message), commandMs));
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			const what = error.problem === "timeout" ? "did not respond" : "is unreachable";
			return rejectMessage(
				"target_offline",
				`${name}, the gateway of this device, ${what}; wait for its next status_update`,
			);
		}
	}

	/** Returns the `cluster_update` frame for monitors. */
	#frame(): string {
		const others = this.#members.up.length;
		const alone = !this.#bus.isConnected || (others === 0 && this.#members.hasLost);
		const gateways = 1 + others;
		const releasesDiffer = this.#doReleasesDiffer;
		const gateway = this.#core.name();
		return frameText<"cluster_update">({ type: "cluster_update", gateway, gateways, alone, releasesDiffer });
	}

	/** Publishes the interest before a request, as messages arrive in order. */
	#announceInterest(): void {
		if (!isDeepStrictEqual(this.#interest, this.#interestNow())) this.#sendHeartbeat();
	}

	/** Collects the interest of the monitors connected here. */
	#interestNow(): Interest {
		const devices = new Set<string>();
		let all = false;
		let summary = false;
		for (const monitor of this.#core.monitors.subscriptions()) {
			all ||= monitor.devices === undefined;
			summary ||= monitor.summary !== undefined;
			for (const id of monitor.devices ?? []) devices.add(id);
		}
		all ||= devices.size > maxNamedDevices;
		return { all, summary, devices: all ? [] : [...devices] };
	}

	#onHeartbeat(beat: Heartbeat): void {
		if (beat.gateway === this.#id) return;
		const wasSummaryNeeded = this.#members.isSummaryNeeded;
		this.#members.onHeartbeat(beat);
		if (!wasSummaryNeeded && this.#members.isSummaryNeeded) this.#directory.writeVitals();
	}

	#onReports(message: string): void {
		for (const uplink of readRelayed(message))
			this.#directory.after(uplink.revision, () => this.#onUplink(uplink));
	}

	#onUplink(uplink: RelayedUplink): void {
		const session = this.#mirrors.onUplink(uplink);
		if (!session) return;
		const { events } = this.#core;
		events.emit("uplinkRelayed", session, uplink.text, uplink.isStateReport);
		if (session.device) events.emit("deviceChanged", session.device);
	}

	#publish(kind: "beat" | "report", subject: readonly string[], message: object | string): void {
		const text = typeof message === "string" ? message : JSON.stringify(message);
		this.#publishes.inc({ kind });
		this.#bus.publish(subjectOf("gw", ...subject), text);
	}

	#heartbeat(): Heartbeat {
		const releases = this.#releases;
		return {
			gateway: this.#id,
			name: this.#core.name(),
			interest: this.#interest,
			...(releases && { releases }),
		};
	}

	#sendHeartbeat(): void {
		this.#interest = this.#interestNow();
		const { all, devices } = this.#interest;
		if (all || devices.length > 0)
			this.#reports ??= this.#bus.subscribe(
				"gw.reports.*",
				this.#guarded((text) => this.#onReports(text)),
			);
		else {
			this.#reports?.();
			this.#reports = undefined;
		}
		this.#publish("beat", ["hb", this.#id], this.#heartbeat());
		this.#latestReports.setInterest(this.#interest);
	}

	#tick(): void {
		const at = this.#core.monotonic();
		// After this process was suspended, messages of other gateways are still unread.
		const wasSuspended = at - this.#tickedAt > 2 * this.#beatMs;
		this.#tickedAt = at;
		if (!wasSuspended) this.#members.check();
		this.#directory.writeFailed();
		this.#sendHeartbeat();
		void this.#compareReleases();
	}

	/** Warns if catalogs differ, as a gateway could offer releases that another cannot serve. */
	async #compareReleases(): Promise<void> {
		this.#releases = sha256Of(JSON.stringify(await this.#core.firmware.catalog.read()));
		const others = this.#members.up.filter(({ releases }) => releases && releases !== this.#releases);
		const doDiffer = others.length > 0;
		if (doDiffer === this.#doReleasesDiffer) return;
		this.#doReleasesDiffer = doDiffer;
		const gateways = others.map(({ name }) => name);
		if (doDiffer) this.#core.log.warn({ gateways }, "RELEASES_DIR differs from other gateways");
		else this.#core.log.info("RELEASES_DIR matches all gateways");
		this.#announce();
	}

	#announce(): void {
		const frame = this.#frame();
		if (frame !== this.#announced) this.#core.monitors.broadcast("cluster", frame);
		this.#announced = frame;
	}

	/** Wraps a handler, as an invalid message must not crash the gateway. */
	#guarded(handle: (text: string) => void): (text: string, subject: string) => void {
		return (text, subject) => {
			try {
				handle(text);
			} catch (error) {
				this.#core.log.error({ err: error, subject }, "ignoring invalid message of another gateway");
			}
		};
	}
}
