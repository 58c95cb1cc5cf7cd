/**
 * Standing rollout of some hundred devices in virtual time, while devices come, go, return with older firmware, get
 * tags and lose them, the channel gets releases, a person pauses, and the gateway is killed at drawn steps of its disk.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gt } from "semver";
import { countsOf } from "../../../gateway/api/rollout.js";
import { holdsSlot } from "../../../gateway/rollouts/device-step.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { Random } from "../../support/random.js";
import { seed, seedNote } from "../../support/seed.js";
import { type Fate, SimulatedDevice, SimulatedGateway, Timeline } from "./simulated-fleet.js";

const count = 150;
const kills = 60;
const hours = 4;
const maxAttempts = 3;
const fates: readonly (readonly [number, Fate])[] = [
	[85, "fine"],
	[10, "restarts once"],
	[5, "goes back"],
];
const errorThreshold = { percent: 100, minExecuted: 10_000 };
const groups = [
	{ size: 10, concurrency: 5, soakSeconds: 30, errorThreshold },
	{ size: "rest", concurrency: 25, soakSeconds: 60, errorThreshold },
];

interface Member {
	readonly device: SimulatedDevice;
	isTagged: boolean;
	/** Number of returns with older firmware. */
	returns: number;
}

test(`sends no image twice and no older one in a standing rollout, with ${kills} kills of the gateway`, async (t) => {
	t.diagnostic(seedNote);
	t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
	const random = new Random(seed);
	const [fleetDraw, killDraw, eventDraw] = [
		random.fork("fleet"),
		random.fork("kills"),
		random.fork("events"),
	];
	const dataDir = await temporaryDirectory(t);
	const time = new Timeline();
	const problems: string[] = [];
	const releases = { latest: "2.0.0" };
	const released = [releases.latest];
	const disk = { steps: 0, dieAt: Number.POSITIVE_INFINITY };
	const onDisk = () => ++disk.steps >= disk.dieAt;
	const start = async () => {
		const next = new SimulatedGateway({ dataDir, time, random, problems, releases, onDisk });
		await next.open().catch(() => {});
		return next;
	};
	let gateway = await start();
	const members: Member[] = [];
	/** Sets a label as fleet/ does. */
	const label = ({ device: { id }, isTagged }: Member) => {
		const known = gateway.sessions.devices.get(id);
		if (known) known.label = { tags: isTagged ? ["beta", "shop"] : ["shop"] };
	};
	const add = () => {
		const id = `dev-1-${String(members.length).padStart(6, "0")}`;
		const device = new SimulatedDevice(time, id, fleetDraw.byWeight(fates), "1.0.0", true);
		const member: Member = { device, isTagged: fleetDraw.chance(0.7), returns: 0 };
		device.onSent = (version) => {
			assert.ok(gt(version, device.version), `${id} runs ${device.version}, and was sent ${version}`);
			assert.ok(member.isTagged, `${id} was sent ${version} without the tag`);
			assert.ok(released.includes(version), version);
			assert.ok(
				!gateway.isRunning || version === gateway.rollouts.find("x").plan.firmware.version,
				`${id} was sent ${version}, which the rollout does not name`,
			);
			const before = device.sent.filter((each) => each === version).length;
			const most = maxAttempts * (member.returns + 1);
			assert.ok(before < most, `${id} was sent ${version} ${before + 1} times`);
		};
		members.push(member);
		device.connect(gateway);
		label(member);
	};
	for (let index = 0; index < count; index += 1) add();
	await gateway.settle();
	const plan = {
		firmware: { channel: "beta" },
		target: { tags: "beta and shop" },
		standing: true,
		groups,
		maxAttempts,
	};
	await gateway.rollouts.put("x", plan);

	const release = () => {
		releases.latest = `2.${released.length}.0`;
		released.push(releases.latest);
	};
	const any = () => members[eventDraw.between(0, members.length - 1)];
	const happen = async () => {
		if (eventDraw.chance(0.004)) add();
		const member = any();
		if (!member) return;
		const { device } = member;
		const isFree = device.isOn && !device.isUpdating && device.isConnected;
		const drawn = eventDraw.between(0, 99);
		if (drawn < 2) {
			member.isTagged = !member.isTagged;
			label(member);
		} else if (drawn < 4 && isFree) {
			device.leave();
			time.in(eventDraw.between(1, 900) * 1000, () => device.turnOn(gateway));
		} else if (drawn === 4 && isFree && device.fate === "fine") {
			device.leave();
			device.version = "1.1.0";
			member.returns += 1;
			device.turnOn(gateway);
		}
		if (eventDraw.chance(0.001)) release();
		const command = eventDraw.chance(0.5) ? "pause" : "resume";
		if (eventDraw.chance(0.002)) await gateway.rollouts.execute("x", command, undefined).catch(() => {});
	};
	const nextDeath = () => disk.steps + killDraw.between(1, 400);
	let killed = 0;
	/** @returns whether the gateway still runs */
	const pass = async () => {
		await gateway.pass(1000);
		if (gateway.isRunning) return true;
		killed += 1;
		disk.dieAt = killed < kills ? nextDeath() : Number.POSITIVE_INFINITY;
		await gateway.settle();
		const previous = gateway;
		gateway = await start();
		previous.next = gateway;
		for (const member of members) {
			label(member);
			time.in(fleetDraw.between(500, 8000), () => member.device.connect(gateway));
		}
		return false;
	};
	const check = () => {
		const { devices, head } = gateway.rollouts.find("x");
		const held = [...devices.values()].filter(holdsSlot).length;
		const limit = groups[head.group]?.concurrency ?? 0;
		assert.ok(held <= limit, `${held} devices hold slots, of ${limit}`);
		const updating = members.filter(({ device }) => device.isUpdating).length;
		assert.ok(updating <= limit, `${updating} devices update, at most ${limit}`);
	};

	disk.dieAt = nextDeath();
	for (let second = 0; second < hours * 3600; second += 1) {
		if (!(await pass())) continue;
		check();
		await happen();
	}
	disk.dieAt = Number.POSITIVE_INFINITY;
	// The last one also ends what kills have cost: commands that were lost, and so attempts.
	release();
	for (const { device } of members) if (!device.isUpdating) device.turnOn(gateway);
	await gateway.rollouts.execute("x", "resume", undefined);
	const isAtRest = () => {
		const { devices, plan: current } = gateway.rollouts.find("x");
		const isWaiting = [...devices.values()].some((step) => step.status === "queued" || holdsSlot(step));
		return current.firmware.version === releases.latest && !isWaiting && devices.size > 0;
	};
	for (let second = 0; !isAtRest(); second += 1) {
		const counts = countsOf(gateway.rollouts.find("x").devices.values());
		assert.ok(second < 2 * 3600, `it is not at rest: ${JSON.stringify(counts)}`);
		await pass();
		check();
	}
	for (const { device, isTagged } of members) {
		if (!isTagged || device.fate === "goes back") continue;
		assert.equal(device.version, releases.latest, `${device.id}, ${device.fate}: ${device.sent}`);
	}
	assert.deepEqual(
		problems.filter((problem) => !problem.includes("damaged lines")),
		[],
	);
	assert.equal(killed, kills);
	const sent = members.reduce((total, { device }) => total + device.sent.length, 0);
	const returned = members.reduce((total, { returns }) => total + returns, 0);
	t.diagnostic(
		`${released.length} releases, ${members.length} devices, ${returned} returns, ${sent} updates`,
	);
});
