/** Composition root: constructs the page's parts and dispatches the gateway's frames. Views read from it and listen by topic. */

import type { ComponentType } from "preact";
import { messageOf } from "../../../../device/message-of.js";
import type {
	ChangedSettings,
	CommandOf,
	StateReport,
	Uplink,
} from "../../../../device/protocol/messages.js";
import type { Announcement } from "../../../api/announcement.js";
import { GatewayClock } from "../../../api/client/clock.js";
import { type Entry, Fleet } from "../../../api/client/fleet.js";
import { problemDetail, type RequestBody } from "../../../api/client/request.js";
import { sentence } from "../../../api/client/words.js";
import type { SentCommand } from "../../../api/command.js";
import { type ConfirmableCommand, titleOf } from "../../../api/commands.js";
import type { DeviceDetails, Past } from "../../../api/device.js";
import type { FrameOf, MonitorFrame } from "../../../api/frames.js";
import type { Person } from "../../../api/person.js";
import { noQuery, type Query, queryOf, queryText } from "../model/filter.js";
import { commandKind } from "../model/job.js";
import { type Attempt, newSettings, PendingCommands } from "../model/pending-commands.js";
import { playKind } from "../model/plays.js";
import { Selection } from "../model/selection.js";
import { listAddress } from "./addresses.js";
import { FirmwareStore } from "./firmware.js";
import { request, requestIfFound } from "./gateway.js";
import { Jobs } from "./jobs.js";
import { Link, type LinkState } from "./link.js";
import { restoringCommands } from "./mute.js";
import { Painter, type Topic } from "./painter.js";
import { type Plan, runPlan } from "./plan.js";
import { Recorder } from "./recorder.js";
import { Resource } from "./resource.js";
import { Rollouts } from "./rollouts.js";
import { Subscription } from "./subscription.js";
import { Toasts } from "./toasts.js";

export class App {
	/** Source of all times and ages on the page. */
	readonly clock = new GatewayClock();
	readonly painter = new Painter((paint) => requestAnimationFrame(paint));
	readonly recorder = new Recorder();
	readonly firmware = new FirmwareStore(() => this.painter.mark("firmware"));
	/** Records of the devices that were shown, by id. */
	readonly #histories = new Map<string, Resource<DeviceHistory>>();
	readonly fleet = new Fleet((key, isListed, previous, entry) => {
		this.painter.mark(`device ${key}`);
		if (isListed) this.painter.mark("list");
		if (!entry) this.selection.drop(key);
		else if (previous) this.#compare(previous, entry);
	});
	/** Columns of the device table that are hidden in this browser, separated by commas. */
	get hiddenColumns(): string {
		return (
			localStorage.getItem("hiddenColumns") ??
			(matchMedia("(width < 75rem)").matches ? "model,volume,heard" : "")
		);
	}

	set hiddenColumns(columns: string) {
		localStorage.setItem("hiddenColumns", columns);
		this.painter.mark("query");
	}

	/** Rooms whose devices are shown on Home: at first, those of devices without a room. */
	readonly openRooms = new Set([""]);
	readonly selection = new Selection(() => this.painter.mark("selection"));
	/** Confirmations of the latest actions. */
	readonly toasts = new Toasts(() => this.painter.mark("jobs"));
	readonly jobs = new Jobs({
		requests: {
			start: (body: RequestBody<"POST /api/commands">) => request("POST /api/commands", { body }),
			list: async () => (await request("GET /api/commands")).commands,
			read: (id) => request("GET /api/commands/:id", { params: { id } }),
			stop: (id) => request("DELETE /api/commands/:id", { params: { id } }),
		},
		kind: commandKind,
		titleOf: ({ payload }: Pick<SentCommand, "payload">) => titleOf(payload),
		isShown: ({ by, counts: { done, ...others } }, agoMs) => {
			const hasFailed = Object.values(others).some((count) => count > 0);
			// While the person is unknown, all jobs may be their own.
			const isOwn = this.person === undefined || this.person.name === by;
			return isOwn && agoMs < (hasFailed ? failedShownMs : doneShownMs);
		},
		now: () => this.clock.now(),
		onChanged: () => this.painter.mark("jobs"),
		onDone: (job) => this.toasts.show(job.options.title, job.doneText, job.undo),
	});
	readonly announcements = new Jobs({
		requests: {
			start: (body: RequestBody<"POST /api/announcements">) => request("POST /api/announcements", { body }),
			list: async () => (await request("GET /api/announcements")).announcements,
			read: (id) => request("GET /api/announcements/:id", { params: { id } }),
			stop: (id) => request("DELETE /api/announcements/:id", { params: { id } }),
		},
		kind: playKind,
		titleOf: ({ name }: Pick<Announcement, "name">) => name ?? "Announcement",
		isShown: () => true,
		now: () => this.clock.now(),
		onChanged: () => this.painter.mark("announcements"),
	});
	readonly rejections = this.#resource("issues", () => request("GET /api/rejections"));
	/** Null if this gateway does not record crashes. */
	readonly crashes = this.#resource("issues", () => requestIfFound("GET /api/crashes"));
	/** Problems of the gateway, such as a full disk, and warnings, such as an expiring certificate. */
	readonly readiness = this.#resource("issues", readReadiness);
	/** Null if this gateway has no quiet hours. */
	readonly quietHours = this.#resource("quiet", () => requestIfFound("GET /api/quiet-hours"));
	readonly pendingCommands = new PendingCommands({
		now: () => this.clock.now(),
		onChanged: (deviceId) => {
			this.painter.mark(`device ${deviceId}`);
			this.#subscription.plan();
		},
	});
	readonly rollouts = new Rollouts(() => this.painter.mark("rollouts"));
	/** Section that another entry of the page adds to the device view. */
	deviceSection: ComponentType<{ readonly entry: Entry }> | undefined;
	linkState: LinkState = { name: "connecting" };
	/** Undefined until loaded. */
	person: Person | undefined;
	/** Undefined for a gateway outside a cluster. */
	cluster: FrameOf<"cluster_update"> | undefined;
	/** Time of the latest frame, in milliseconds of the gateway's clock. */
	heardAt: number | undefined;
	/** Keys of the devices in the fleet view, in its order. */
	shownKeys: readonly string[] = [];
	/** Scroll position of the fleet and of each room, by address. */
	readonly places = new Map<string, Place>();
	/** By the address of the filtered view. */
	readonly #queries = new Map<string, Query>();
	readonly #subscription = new Subscription({
		needed: () => [...this.pendingCommands.pending(), ...this.recorder.keys()],
		send: (devices) => this.#link.request({ type: "subscribe", summary: true, devices }),
		onChanged: (ids) => this.fleet.follow(ids),
	});
	readonly #link = new Link({
		now: () => this.clock.now(),
		onFrame: (frame) => this.#receive(frame),
		onOpen: () => this.#subscription.onOpen(),
		onState: (state) => {
			this.linkState = state;
			if (state.name === "lost") {
				this.#subscription.onLost();
				this.cluster = undefined;
			} else if (state.name === "live") {
				void this.#readPerson().then(() => {
					void this.jobs.onLive();
					void this.announcements.onLive();
				});
				for (const list of [this.rejections, this.crashes, this.readiness, this.quietHours])
					void list.refresh();
			}
			this.painter.mark("link");
		},
		// The fragment keeps the current view.
		onLoginNeeded: () => location.assign(`login${location.hash}`),
	});

	/** Starts to poll readiness and quiet hours, and to end toasts when the view changes. */
	startClock(): void {
		addEventListener("hashchange", () => {
			this.toasts.clear();
			if (history.state === ownEntry) this.readQuery(location.hash.replace(/^[^?]*/, ""));
		});
		setInterval(() => {
			if (this.linkState.name === "lost" || document.hidden) return;
			void this.#checkReadiness();
			if (this.quietHours.value) void this.quietHours.refresh();
		}, readinessMs);
	}

	/** Filter of the fleet or a room. It outlives the view, and is in the URL while the view is shown. */
	get query(): Query {
		return this.#queries.get(listAddress()) ?? noQuery;
	}

	/** Changes the filter. Each change is an entry of the browser's history, except while a text is typed. */
	changeQuery(change: Partial<Query>): void {
		const isTyped = Object.keys(change).every((field) => field === "search" || field === "tags");
		this.#setQuery({ ...this.query, ...change }, isTyped ? "replaceState" : "pushState");
	}

	/** Applies the query of an address; an empty one keeps the latest query of that view, unless it is an entry of the history. */
	readQuery(search: string): void {
		const isKept = search === "" && history.state !== ownEntry;
		this.#setQuery(isKept ? this.query : queryOf(search), "replaceState");
	}

	#setQuery(query: Query, how: "pushState" | "replaceState"): void {
		const address = listAddress();
		this.#queries.set(address, query);
		history[how](ownEntry, "", `${address}${queryText(query)}`);
		this.painter.mark("query");
	}

	/** Returns the gateway's records of a device. */
	history(deviceId: string): Resource<DeviceHistory> {
		const known = this.#histories.get(deviceId);
		if (known) return known;
		const params = { deviceId };
		const read = async () => {
			const [details, past] = await Promise.all([
				request("GET /api/devices/:deviceId", { params }),
				request("GET /api/devices/:deviceId/history", { params }),
			]);
			return { details, past };
		};
		const past = this.#resource(`record ${deviceId}`, read);
		this.#histories.set(deviceId, past);
		return past;
	}

	/** Subscribes to the reports of a device. @returns a function that unsubscribes */
	follow(key: string): () => void {
		return this.#subscription.show(key);
	}

	/** Starts or stops the live log of a device. @throws Error if the gateway rejects it */
	async setLog(deviceId: string, level: CommandOf<"set_log">["level"], seconds: number): Promise<void> {
		const payload: CommandOf<"set_log"> = { command: "set_log", level, seconds };
		const message = { type: "control_device", targetId: deviceId, payload } as const;
		await this.#link.request(message).catch(throwSentence);
	}

	/** Starts the update of one device. @param selector `latest`, `custom` or a version @throws Error if the gateway rejects it */
	async update(deviceId: string, selector: string): Promise<void> {
		const message = { type: "trigger_ota", targetId: deviceId, version: selector } as const;
		await this.#link.request(message).catch(throwSentence);
	}

	/** Connects, unless connected or connecting. */
	connect(): void {
		this.#link.retryNow();
	}

	/** Sends a command to a device. @returns the attempt once it has succeeded or failed */
	sendCommand(deviceId: string, ask: ConfirmableCommand): Promise<Attempt> {
		return this.pendingCommands.start(deviceId, ask, () => this.#control(deviceId, ask));
	}

	/** Starts a trial of new settings. @param make creates them; may throw an error whose message is shown */
	changeSettings(deviceId: string, make: () => Promise<ChangedSettings>): Promise<Attempt> {
		return this.pendingCommands.start(deviceId, newSettings, async () =>
			this.#control(deviceId, { ...newSettings, value: await make() }),
		);
	}

	/** Sends a command to many devices by the gateway. */
	commandDevices(payload: ConfirmableCommand, entries: readonly Entry[]): Promise<void> {
		const targets = { devices: entries.map(({ key }) => key) };
		return this.jobs.start({ payload, targets }, this.undoOf(payload, entries));
	}

	/** Returns a function that restores the values reported now; undefined if nothing can be restored. */
	undoOf(ask: ConfirmableCommand, entries: readonly Entry[]): (() => void) | undefined {
		const asks = new Map(entries.map((entry) => [entry.key, restoringCommands(entry, ask)]));
		const keys = [...asks.keys()].filter((key) => asks.get(key)?.length);
		if (keys.length === 0) return undefined;
		const change = async (key: string) => {
			for (const ask of asks.get(key) ?? []) {
				const { reason } = await this.sendCommand(key, ask);
				if (reason !== null) throw new Error(reason);
			}
		};
		return () => this.#restore(keys, change);
	}

	/** Starts a plan that changes many devices. */
	run(plan: Plan): void {
		const { keys, undo } = plan;
		const job = runPlan(plan, () => this.jobs.settle());
		job.undo = undo && (() => this.#restore(keys, undo));
		this.jobs.add(job);
	}

	#restore(keys: readonly string[], change: Plan["change"]): void {
		this.run({ title: "Undo", keys, change });
	}

	/** Requests a new token for a device and starts a trial of it. */
	replaceToken(deviceId: string): Promise<Attempt> {
		return this.changeSettings(deviceId, async () => {
			const { token } = await request("POST /api/device-tokens", { body: { deviceId } });
			return { token };
		});
	}

	/** @param topic marked after each load */
	#resource<T>(topic: Topic, read: () => Promise<T>): Resource<T> {
		return new Resource(read, () => this.painter.mark(topic));
	}

	async #control(deviceId: string, payload: ConfirmableCommand | CommandOf<"set_settings">): Promise<void> {
		// Commands to several devices in one turn share a single subscription request.
		await Promise.resolve();
		this.#subscription.ensure(deviceId);
		return this.#link.request(
			payload.command === "boot_device"
				? { type: "boot_device", targetId: deviceId }
				: { type: "control_device", targetId: deviceId, payload },
		);
	}

	/** @returns whether the frame completes a snapshot of the devices */
	#receive(frame: MonitorFrame): boolean {
		if (frame.type === "status_update" || frame.type === "summary")
			this.clock.sync(frame.timestamp, frame.reason === "snapshot");
		const now = this.clock.now();
		this.heardAt = now;
		if (frame.type === "status_update") return this.#update(frame);
		if (frame.type === "summary") return this.#onSnapshot(this.fleet.summarize(frame));
		if (frame.type === "device_message") this.#onDeviceMessage(frame, now);
		else if (frame.type === "rollout_update") this.rollouts.onUpdate(frame);
		else if (frame.type === "announcement_update") this.announcements.onUpdate(frame);
		else if (frame.type === "command_update") this.jobs.onUpdate(frame);
		else if (frame.type === "list_update") void this[frame.list].refresh();
		else if (frame.type === "cluster_update") {
			this.cluster = frame;
			this.painter.mark("link");
		}
		return false;
	}

	#update(frame: FrameOf<"status_update">): boolean {
		const isSnapshotComplete = this.fleet.update(frame);
		for (const { deviceId, connected, state } of frame.sessions) {
			if (deviceId === null) continue;
			if (frame.reason === "crash") void this.#histories.get(deviceId)?.refresh();
			if (connected && state && frame.reason !== "connected") this.pendingCommands.onEvent(deviceId, state);
		}
		return this.#onSnapshot(isSnapshotComplete);
	}

	#onSnapshot(isSnapshotComplete: boolean): boolean {
		if (isSnapshotComplete) for (const list of [this.rollouts, this.firmware]) void list.refresh();
		return isSnapshotComplete;
	}

	/** Detects a connection that ended without a close frame. */
	async #checkReadiness(): Promise<void> {
		const heardBefore = this.heardAt;
		await this.readiness.refresh();
		// On a slow link the response may be late while frames still arrive.
		if (this.readiness.problem !== "" && this.heardAt === heardBefore) this.#link.drop();
	}

	async #readPerson(): Promise<void> {
		// Not essential: the gateway enforces the permissions.
		this.person = await request("GET /login/state").catch(() => this.person);
		this.painter.mark("link");
	}

	/** Reports reconnects and disconnects, from the summary or from the device's own record. */
	#compare({ session: before }: Entry, { key, session }: Entry): void {
		if (session.connected && session.sessionId !== before.sessionId)
			this.pendingCommands.onEvent(key, { type: "connected" });
		if (!session.connected && before.connected) this.pendingCommands.onEvent(key, { type: "gone" });
	}

	#onDeviceMessage(frame: FrameOf<"device_message">, now: number): void {
		const before = this.fleet.get(frame.deviceId ?? frame.sessionId)?.state ?? null;
		const key = this.fleet.receive(frame, now);
		if (key === undefined) return;
		const { message } = frame;
		this.pendingCommands.onEvent(key, message);
		if (message.type === "settings_result" || isRestart(message, before))
			void this.#histories.get(key)?.refresh();
		if (this.recorder.record(key, message, now, before)) this.painter.mark(`record ${key}`);
	}
}

/** State of the history's entries whose address contains the whole filter. */
const ownEntry = "filter";

/** How long ended commands are shown, with and without failed devices. */
const failedShownMs = 60 * 60_000;
const doneShownMs = 60_000;

/** Poll interval and timeout of the readiness check. */
const readinessMs = 20_000;
const readinessTimeoutMs = 5_000;

async function readReadiness(): Promise<readonly string[]> {
	const signal = AbortSignal.timeout(readinessTimeoutMs);
	const response = await fetch("readyz", { cache: "no-store", signal });
	// An unread body would keep its connection open.
	const text = await response.text();
	if (response.status === 503) return [problemDetail(response.status, text)];
	const { warnings = [] }: { readonly warnings?: readonly string[] } = response.ok ? JSON.parse(text) : {};
	return warnings;
}

/** Whether a message is the first report after a restart. */
function isRestart(message: Uplink, before: StateReport | null): boolean {
	const { uptime_seconds: uptime = 0 } = before?.health ?? {};
	return message.type === "state_report" && message.health.uptime_seconds < uptime;
}

/** Gateway's records of a device: its last 24 hours, restarts, versions, updates and crashes. */
export interface DeviceHistory {
	readonly details: DeviceDetails;
	readonly past: Past;
}

/** Position that a list view restores. */
export interface Place {
	/** CSS pixels. */
	readonly scrollTop: number;
	/** Device that was opened from the list. */
	readonly key: string | undefined;
}

function throwSentence(error: unknown): never {
	throw new Error(sentence(messageOf(error)));
}
