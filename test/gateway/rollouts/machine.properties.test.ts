import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { compare, inc } from "semver";
import { keysOf } from "../../../device/protocol/schema.js";
import {
	countsOf,
	type DeviceStep,
	type Group,
	type Plan,
	type Rollout,
} from "../../../gateway/api/rollout.js";
import { failureStatuses, isOneOf } from "../../../gateway/api/statuses.js";
import { silenceMs, type UpdateJob } from "../../../gateway/firmware/update-job.js";
import { executeCommand, rolloutCommands } from "../../../gateway/rollouts/commands.js";
import {
	type DeviceSnapshot,
	type GetSnapshot,
	holdsSlot,
	queued,
	type Timing,
} from "../../../gateway/rollouts/device-step.js";
import { advance, apply, firstHead, isActive, sizeOf } from "../../../gateway/rollouts/machine.js";
import {
	isUpdating as hasUpdates,
	isBehind,
	isLater,
	isStanding,
	updateMembers,
	withRelease,
} from "../../../gateway/rollouts/standing.js";
import { runs } from "../../support/property-runs.js";

const target = "2.0.0";

/** Device of a rollout. */
class Known {
	readonly id: string;
	seen: DeviceSnapshot;
	/** Version to which it goes back. */
	from: string | null;
	hasTags = true;

	constructor(id: string, seen: DeviceSnapshot) {
		this.id = id;
		this.seen = seen;
		this.from = seen.version;
	}

	see(values: Partial<DeviceSnapshot>): void {
		this.seen = { ...this.seen, ...values };
	}

	connect(version = this.seen.version): void {
		this.see({ version, isConnected: true, isAvailable: version !== null });
	}

	setJob(values: Partial<UpdateJob>): void {
		this.see({ job: { status: "pending", startedAt: 0, ...this.seen.job, ...values } });
	}

	comeBack(version: string): void {
		this.from = version;
		this.connect(version);
	}
}

type Happening = (device: Known, world: World) => unknown;

function isUpdating({ seen }: Known): boolean {
	return isOneOf(["pending", "downloading", "rebooting"], seen.job?.status ?? "");
}

function isHeld({ id }: Known, { rollout }: World): boolean {
	return holdsSlot(rollout.devices.get(id) ?? queued(id, 0));
}

const whileUpdating =
	(happening: Happening): Happening =>
	(device, world) =>
		isUpdating(device) && happening(device, world);
const otherwise =
	(happening: Happening): Happening =>
	(device, world) =>
		!isUpdating(device) && !isHeld(device, world) && happening(device, world);

/** Events of a device, in any state. */
const deviceEvents = {
	leaves: (device: Known) => device.see({ isConnected: false, isAvailable: false }),
	returns: (device: Known) => device.connect(),
	progresses: whileUpdating((device) => device.setJob({ status: "downloading", percent: 50 })),
	completes: whileUpdating((device) => device.setJob({ status: "rebooting", percent: 100 })),
	updates: whileUpdating((device) => {
		device.setJob({ status: "updated" });
		device.connect(device.seen.job?.version ?? target);
	}),
	fails: whileUpdating((device) => device.setJob({ status: "failed", reason: "It failed." })),
	"falls silent": whileUpdating((device) => device.setJob({ status: "failed", silent: true })),
	// Ignored by the rollout after the soak time.
	"goes back": (device: Known, world: World) => {
		if (device.seen.job?.status !== "updated" || !isHeld(device, world)) return;
		device.setJob({ status: "rolled_back", reason: "It went back." });
		device.see({ version: device.from });
	},
	"is forgotten": ({ id }: Known, { devices }: World) => devices.delete(id),
	// Rejected by the gateway while the device holds a slot.
	"is updated by a person": otherwise((device, { rollout }) =>
		device.see({ version: rollout.plan.firmware.version }),
	),
	"comes back older": otherwise((device) => device.comeBack("1.1.0")),
	"comes back newer": otherwise((device) => device.comeBack("9.0.0")),
	"loses its tags": (device: Known) => Object.assign(device, { hasTags: false }),
	"gets its tags": (device: Known) => Object.assign(device, { hasTags: true }),
};
type DeviceEvent = keyof typeof deviceEvents;

const group: fc.Arbitrary<Omit<Group, "size">> = fc.record({
	concurrency: fc.integer({ min: 1, max: 4 }),
	errorThreshold: fc.oneof(
		fc.record({ count: fc.integer({ min: 1, max: 4 }), minExecuted: fc.constant(10) }),
		fc.record({ percent: fc.integer({ min: 1, max: 100 }), minExecuted: fc.integer({ min: 1, max: 4 }) }),
	),
	approval: fc.boolean(),
	soakSeconds: fc.constantFrom(0, 60, 180),
});
const size = fc.oneof(
	fc.integer({ min: 1, max: 4 }),
	fc.integer({ min: 1, max: 100 }).map((part) => `${part}%`),
);
const plan: fc.Arbitrary<Plan> = fc
	.record({
		first: fc.array(fc.tuple(group, size), { maxLength: 2 }),
		last: group,
		maxAttempts: fc.integer({ min: 1, max: 3 }),
		allowDowngrade: fc.boolean(),
		standing: fc.boolean(),
	})
	.map(({ first, last, maxAttempts, allowDowngrade, standing }) => ({
		firmware: {
			version: target,
			...(standing && { channel: "beta" }),
			source: "release",
			images: [{ model: "DEV-1", chip: "esp32s3", sha256: "0".repeat(64) }],
		},
		target: { tags: "unused" },
		standing,
		groups: [
			...first.map(([fields, groupSize]) => ({ ...fields, size: groupSize })),
			{ ...last, size: "rest" },
		],
		maxAttempts,
		allowDowngrade,
		startsAt: new Date(0).toISOString(),
		deadline: new Date(1e12).toISOString(),
	}));
const fleet = fc.array(
	fc.record({
		version: fc.constantFrom("1.0.0", "1.0.0", "1.0.0", target, "3.0.0", null),
		model: fc.constantFrom("DEV-1" as const, "DEV-1" as const, "DEV-1" as const, "PROTO-1" as const),
		isConnected: fc.boolean(),
	}),
	{ minLength: 1, maxLength: 12 },
);
const actions = fc.array(
	fc.oneof(
		{ weight: 6, arbitrary: fc.tuple(fc.constantFrom(...keysOf(deviceEvents)), fc.nat(11)) },
		{ weight: 4, arbitrary: fc.constantFrom(1, 30, 181, silenceMs / 1000) },
		{ weight: 2, arbitrary: fc.constantFrom(...rolloutCommands) },
		{ weight: 1, arbitrary: fc.constantFrom("closes or opens the window", "releases", "adds a device") },
	),
	{ maxLength: 80 },
);

/** A few devices with test-controlled updates, and the invariants of their rollout. */
class World {
	rollout: Rollout;
	readonly devices = new Map<string, Known>();
	/** Counted since the device was queued by a person, rejoined, or a later release started. */
	readonly offers = new Map<string, number>();
	/** Latest release of the channel of a standing rollout. */
	latest = target;
	now = 1000;
	isOpen = true;
	#jobs = 0;
	#added = 0;

	constructor(plan: Plan, fleet: readonly Pick<DeviceSnapshot, "version" | "model" | "isConnected">[]) {
		for (const device of fleet) this.add(device);
		const devices = new Map([...this.devices.keys()].map((id) => [id, queued(id, this.now)]));
		this.rollout = { id: "x", createdAt: 0, asked: undefined, plan, head: firstHead, devices };
	}

	add(device: Pick<DeviceSnapshot, "version" | "model" | "isConnected">): void {
		const isAvailable = device.isConnected && device.version !== null;
		const rest = { chip: undefined, isElsewhere: false, isInherited: false, isReturning: false };
		this.#added += 1;
		const id = `dev-1-${this.#added}`;
		this.devices.set(id, new Known(id, { ...device, ...rest, isConnected: isAvailable, isAvailable }));
	}

	get timing(): Timing {
		return { now: this.now, isDue: true, isOpen: this.isOpen, isLate: false, graceMs: 0 };
	}

	get steps(): readonly DeviceStep[] {
		return [...this.rollout.devices.values()];
	}

	/** @param answer result of an offer: sent, lost with a kill, or rejected */
	advance(answer: (offer: number) => "sent" | "lost" | "rejected" = () => "sent"): void {
		const snapshotOf: GetSnapshot = (id) => this.devices.get(id)?.seen;
		const isHeld = isStanding(this.rollout, this.timing) && this.#follow(snapshotOf);
		const before = this.rollout;
		const change = advance(before, snapshotOf, { ...this.timing, isOpen: this.isOpen && !isHeld });
		this.rollout = apply(before, change);
		const { version } = this.rollout.plan.firmware;
		const moved = change.devices.map(({ deviceId }) => deviceId);
		assert.equal(new Set(moved).size, moved.length, "two steps at once");
		const offered = change.devices.filter(
			({ deviceId, status, attempts }) =>
				status === "offered" && attempts > (before.devices.get(deviceId)?.attempts ?? 0),
		);
		if (before.head.status !== "running" && this.rollout.head.status !== "running")
			assert.deepEqual(offered, [], "offered while it is not running");
		if (!this.isOpen) assert.deepEqual(offered, [], "offered outside the window");
		for (const [index, { deviceId }] of offered.entries()) {
			const device = this.devices.get(deviceId);
			assert.ok(device?.seen.isAvailable, "offered to a device that is away");
			assert.ok(!isHeld, "offered although there is a later release");
			assert.ok(!before.plan.standing || device.hasTags, "offered to a device without the tags");
			const order = compare(version, device.seen.version ?? "0.0.0");
			const isNeeded = order > 0 || (order < 0 && before.plan.allowDowngrade);
			assert.ok(isNeeded, `${version} to ${device.seen.version}`);
			const outcome = answer(index);
			if (outcome === "rejected") device.see({ offer: { code: "target_offline", message: "It has gone." } });
			if (outcome !== "sent") continue;
			this.offers.set(deviceId, (this.offers.get(deviceId) ?? 0) + 1);
			this.#jobs += 1;
			device.see({ job: { status: "pending", version, startedAt: this.#jobs } });
		}
		for (const { deviceId, status } of change.devices) {
			if (status !== "offered") this.devices.get(deviceId)?.see({ offer: undefined });
		}
		this.check(before);
	}

	/** Advances a standing rollout. @returns whether it waits for a later release to start */
	#follow(snapshotOf: GetSnapshot): boolean {
		const { plan } = this.rollout;
		const isWaiting = isLater(plan, this.latest);
		if (isWaiting && !hasUpdates(this.rollout, this.now)) {
			const before = this.rollout;
			this.rollout = withRelease(before, { ...plan.firmware, version: this.latest }, this.now);
			this.offers.clear();
			const { head } = this.rollout;
			assert.ok(head.revision > before.head.revision, "the revision");
			assert.equal(head.pausedBecause, before.head.pausedBecause === "operator" ? "operator" : undefined);
		}
		const ids = [...this.devices].filter(([, { hasTags }]) => hasTags).map(([id]) => id);
		const rejoins = (step: DeviceStep) => isBehind(this.rollout, step, snapshotOf);
		const steps = updateMembers(this.rollout, ids, rejoins, snapshotOf, this.now);
		for (const { deviceId, status } of steps) {
			const { status: was = "absent" } = this.rollout.devices.get(deviceId) ?? {};
			const allowed =
				status === "queued"
					? ["absent", "removed", "cancelled", "succeeded", "already_installed"]
					: ["queued"];
			assert.ok(allowed.includes(was), `from ${was} to ${status}`);
			this.offers.delete(deviceId);
		}
		this.rollout = apply(this.rollout, { devices: steps });
		return isWaiting && isLater(this.rollout.plan, this.latest);
	}

	/** Adds a later release to the channel. */
	release(): void {
		this.latest = inc(this.latest, "minor") ?? this.latest;
	}

	/** Whether only new devices and releases are pending. */
	get isAtRest(): boolean {
		const { plan, head } = this.rollout;
		if (!plan.standing) return !isActive(this.rollout);
		const isWaiting = this.steps.some((step) => step.status === "queued" || holdsSlot(step));
		return head.status === "running" && plan.firmware.version === this.latest && !isWaiting;
	}

	command(command: (typeof rolloutCommands)[number]): void {
		const change = executeCommand(this.rollout, command, this.timing);
		if (typeof change === "string") return;
		const before = this.rollout;
		this.rollout = apply(before, change);
		if (command === "retry") for (const { deviceId } of change.devices) this.offers.delete(deviceId);
		else this.check(before);
		const again = executeCommand(this.rollout, command, this.timing);
		if (typeof again !== "string") assert.deepEqual(again, { devices: [] }, `${command} twice`);
		if (command === "pause") assert.notEqual(this.rollout.head.status, "running");
	}

	happen(what: DeviceEvent, index: number): void {
		const id = [...this.devices.keys()][index % Math.max(1, this.devices.size)];
		if (id !== undefined) this.happenTo(id, what);
	}

	happenTo(id: string, what: DeviceEvent): void {
		const device = this.devices.get(id);
		if (device) deviceEvents[what](device, this);
	}

	check(before: Rollout): void {
		const { head, plan, devices } = this.rollout;
		const held = this.steps.filter(holdsSlot);
		const limit = plan.groups[head.group]?.concurrency ?? 0;
		assert.ok(held.length <= limit, `${held.length} slots of ${limit} are held`);
		for (const [deviceId, offers] of this.offers)
			assert.ok(offers <= plan.maxAttempts, `${deviceId} was offered it ${offers} times`);
		for (const { deviceId, attempts } of this.steps)
			assert.ok(attempts <= plan.maxAttempts, `${deviceId} has had ${attempts} attempts`);
		const counts = countsOf(devices.values());
		const counted = Object.values(counts).reduce((sum, count) => sum + count, 0);
		assert.equal(counted, before.devices.size);
		for (const [index, planned] of plan.groups.entries()) {
			const begun = this.steps.filter((step) => step.group === index && step.attempts <= 1);
			const first = begun.filter(({ deviceId }) => before.devices.get(deviceId)?.group === undefined);
			if (first.length > 0)
				assert.ok(first.length <= sizeOf(planned, this.steps), `group ${index} is too large`);
		}
		for (const [deviceId, step] of before.devices)
			if (step.status !== "queued" && !holdsSlot(step))
				assert.deepEqual(devices.get(deviceId), step, "an end has changed");
		if (before.head.status === "cancelled") assert.equal(head.status, "cancelled");
		assert.ok(head === before.head || head.revision > before.head.revision, "the revision");
	}
}

describe("rollout with any device events", () => {
	test("follows its plan, and never leaves a final state", () => {
		const answer = fc.constantFrom("sent" as const, "sent" as const, "lost" as const, "rejected" as const);
		const answers = fc.array(answer, { minLength: 1, maxLength: 5 });
		fc.assert(
			fc.property(plan, fleet, actions, answers, (drawn, devices, happened, answered) => {
				const world = new World(drawn, devices);
				for (const action of happened) {
					if (typeof action === "number") world.now += action * 1000;
					else if (action === "closes or opens the window") world.isOpen = !world.isOpen;
					else if (action === "releases") world.release();
					else if (action === "adds a device")
						world.add({ version: "1.0.0", model: "DEV-1", isConnected: true });
					else if (typeof action === "string") world.command(action);
					else world.happen(action[0], action[1]);
					world.advance((index) => answered[index % answered.length] ?? "sent");
				}
			}),
			{ numRuns: runs(2000) },
		);
	});

	test("finishes once devices are updatable and approved, on the latest release if standing", () => {
		fc.assert(
			fc.property(plan, fleet, actions, (drawn, devices, happened) => {
				const world = new World(drawn, devices);
				for (const action of happened) {
					if (typeof action === "object") world.happen(action[0], action[1]);
					if (action === "releases") world.release();
					world.advance();
				}
				for (let round = 0; round < 400 && !world.isAtRest; round++) {
					world.command("approve");
					world.command("resume");
					for (const [id, { seen }] of [...world.devices]) {
						if (seen.version === null) world.happenTo(id, "is forgotten");
						world.happenTo(id, "returns");
						world.happenTo(id, "updates");
					}
					world.now += 200_000;
					world.advance();
				}
				const { head, plan } = world.rollout;
				assert.equal(head.status, plan.standing ? "running" : "finished");
				assert.equal(plan.firmware.version, plan.standing ? world.latest : target);
				for (const { deviceId, status } of world.steps) {
					const device = world.devices.get(deviceId);
					if (!device || status === "removed") continue;
					const isDone = status === "succeeded" || status === "already_installed";
					if (status === "cancelled")
						assert.ok(plan.standing && !device.hasTags, "it left although it is meant");
					else if (!isDone) assert.ok(status === "rejected" || isOneOf(failureStatuses, status), status);
					else if (plan.standing && device.hasTags)
						assert.ok(compare(device.seen.version ?? "", plan.firmware.version) >= 0, deviceId);
				}
			}),
			{ numRuns: runs(500) },
		);
	});
});
