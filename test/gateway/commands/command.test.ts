import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CommandError, uplinks } from "../../../device/protocol/messages.js";
import { matches } from "../../../device/protocol/schema.js";
import type { ConfirmableCommand } from "../../../gateway/api/commands.js";
import { Command } from "../../../gateway/commands/command.js";
import { Commands } from "../../../gateway/commands/commands.js";
import type { Core, CreateExtension } from "../../../gateway/extension.js";
import { socketLimits } from "../../../gateway/limits.js";
import { deferred } from "../../support/eventually.js";
import { runGateway } from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

const at = (ms: number) => ({ now: ms, monotonic: ms });
const volume: ConfirmableCommand = { command: "set_volume", value: 40 };

function begin(count: number, ask = volume) {
	const devices = Array.from({ length: count }, (_, index) => `dev-${index}`);
	const command = new Command({ id: "c1", ask, by: "monitor", devices, moment: at(0) });
	const asked = command.next(at(0));
	const reports = (deviceId: string, value: number, ms = 100, path = "peripherals.audio.volume") => {
		const report = withField(sampleReport("DEV-1"), path, value);
		assert.ok(matches(uplinks.state_report, report), `invalid report: ${JSON.stringify(report)}`);
		command.applyEvent(deviceId, report, at(ms));
	};
	const rejects = (deviceId: string, what: Pick<CommandError, "command" | "message">) =>
		command.applyEvent(deviceId, { type: "command_error", deviceId, code: "busy", ...what }, at(10));
	const partOf = (deviceId: string) => command.parts.shown().find((device) => device.deviceId === deviceId);
	return { command, asked, reports, rejects, partOf };
}

describe("job", () => {
	test("is sent to 20 devices at a time, and to the next once one has confirmed it", () => {
		const { command, asked, reports } = begin(50);
		assert.equal(asked.length, 20);
		assert.deepEqual(command.next(at(0)), []);
		reports("dev-3", 39);
		assert.deepEqual(command.next(at(0)), []);
		reports("dev-3", 40);
		reports("dev-30", 40);
		assert.deepEqual(command.next(at(0)), ["dev-20"]);
		const { done, waiting } = command.head().counts;
		assert.deepEqual([done, waiting, command.parts.endedAt], [1, 29, null]);
	});

	test("is sent to a new subscriber in frames within the limit, with all devices", async (t) => {
		const core = deferred<Core>();
		const create: CreateExtension = (extensionCore) => {
			core.resolve(extensionCore);
			return {};
		};
		await runGateway(t, { extensions: [create] });
		const { jobs } = new Commands(await core.promise);
		t.after(() => jobs.close());
		const { command, asked } = begin(10_000);
		const problem = { code: "unsupported_command", message: "x".repeat(300) } as const;
		const reject = (deviceId: string) => deviceId !== "dev-0" && command.reject(deviceId, problem, at(10));
		for (let sent = asked; sent.length > 0; sent = command.next(at(10))) sent.forEach(reject);
		jobs.add(command);
		const frames = jobs.frames();
		const longest = Math.max(...frames.map((frame) => frame.length));
		assert.ok(longest <= socketLimits.maxMonitorFrameBytes, `${longest} bytes`);
		assert.equal(new Set(frames.flatMap((frame) => frame.match(/"dev-\d+"/g) ?? [])).size, 10_000);
	});

	test("shows why a device did not execute it", () => {
		const { command, rejects, partOf } = begin(5);
		rejects("dev-0", { command: "set_volume", message: "an update is under way" });
		command.applyEvent("dev-1", { type: "gone" }, at(10));
		command.reject("dev-2", { code: "target_offline", message: "dev-2 is not connected" }, at(10));
		command.reject("dev-3", { code: "unsupported_command", message: "update it" }, at(10));
		command.expire(at(11_000));
		assert.equal(command.parts.endedAt, null);
		command.expire(at(11_001));
		const devices = command.parts.shown();
		assert.deepEqual(devices.map(({ deviceId, state }) => `${deviceId} ${state}`).sort(), [
			"dev-0 failed",
			"dev-1 failed",
			"dev-2 away",
			"dev-3 unsupported",
			"dev-4 failed",
		]);
		assert.equal(partOf("dev-0")?.reason, "An update is under way.");
		assert.equal(partOf("dev-4")?.reason, "The device did not confirm the command in time.");
		assert.equal(command.parts.endedAt, 11_001);
	});

	test("ignores rejections of other commands and devices with a result", () => {
		const { command, reports, rejects, partOf } = begin(1);
		rejects("dev-0", { command: "identify", message: "no" });
		assert.equal(partOf("dev-0")?.state, "asked");
		reports("dev-0", 40);
		command.applyEvent("dev-0", { type: "gone" }, at(200));
		assert.deepEqual([partOf("dev-0")?.state, command.parts.endedAt], ["done", 100]);
	});

	test("skips waiting devices when canceled, and completes those in progress", () => {
		const { command, reports } = begin(21);
		command.cancel(at(50));
		reports("dev-0", 40);
		assert.deepEqual(command.next(at(60)), []);
		const { cancelled, asked, done } = command.head().counts;
		assert.deepEqual([cancelled, asked, done], [1, 19, 1]);
	});

	test("is confirmed by the next connection for a reconnect, by a new uptime for a restart", () => {
		const boot = begin(1, { command: "boot_device" });
		boot.command.applyEvent("dev-0", { type: "gone" }, at(10));
		assert.equal(boot.partOf("dev-0")?.state, "asked");
		boot.command.applyEvent("dev-0", { type: "connected" }, at(20));
		assert.equal(boot.partOf("dev-0")?.state, "done");
		const { command, reports, partOf } = begin(1, { command: "restart" });
		const runsFor = (seconds: number, ms: number) => reports("dev-0", seconds, ms, "health.uptime_seconds");
		command.applyEvent("dev-0", { type: "gone" }, at(10));
		command.applyEvent("dev-0", { type: "connected" }, at(4_000));
		runsFor(9_000, 4_100);
		assert.equal(partOf("dev-0")?.state, "asked");
		runsFor(3, 4_200);
		assert.equal(partOf("dev-0")?.state, "done");
	});

	test("sends each change once, and no waiting devices", () => {
		const { command, reports } = begin(30);
		const namedIn = (devices: Parameters<typeof command.frameOf>[0]) =>
			JSON.parse(command.frameOf(devices)).devices.length;
		const named = () => namedIn(command.parts.takeChanges());
		assert.deepEqual([named(), named()], [20, 0]);
		reports("dev-3", 40);
		assert.deepEqual([named(), named()], [1, 0]);
		assert.equal(namedIn(command.parts.shown()), 20);
	});
});
