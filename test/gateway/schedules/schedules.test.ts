/** Execution of schedules, on a test clock. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createLog } from "../../../gateway/telemetry/log.js";
import { eventually } from "../../support/eventually.js";
import { bearer, monitorToken, temporaryDirectory } from "../../support/running.js";
import { tone, wav as wavOf } from "../../support/sounds.js";
import { ask, ended, ofActions, ofFleet, runTimed, schedulesOf } from "./gateway.js";

const targets = { devices: ["dev-1-000001"] };
const loud = { command: { targets, payload: { command: "set_volume", value: 80 } } };
const song = { announcement: { url: "http://10.0.0.1/a.wav", targets } };
const wav = wavOf(tone(1_600));
const soundId = createHash("sha256").update(wav).digest("hex");

const make = async (url: string, body: object) => (await ask(url, "POST", "schedules", body)).body.id;
/** Events follow storing; the list may show it earlier. */
const isTold = (told: readonly unknown[]) =>
	eventually(
		() => told.length,
		(count) => count === 1,
	);
/** Commands except query_state. */
const heard = ({ commands }: { commands: readonly { command?: unknown }[] }) =>
	commands.filter(({ command }) => command !== "query_state");

/** Commands may arrive after the result. */
const hears = (device: Parameters<typeof heard>[0], times: number) =>
	eventually(
		() => heard(device).length,
		(count) => count === times,
	);

describe("schedule", ofActions, () => {
	test("runs at its time of day on its days", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T16:40:00Z");
		const device = await connect();
		const at = { weekly: { time: "17:50", days: ["mon", "fri"] } };
		const { status, body } = await ask(url, "POST", "schedules", { name: "Closing", at, do: loud });
		assert.equal(status, 201);
		const { id, createdAt, ...made } = body;
		const shown = { name: "Closing", at, do: loud, on: true, zone: "Europe/Berlin", by: "monitor" };
		assert.deepEqual(made, { ...shown, nextAt: "2026-11-27T16:50:00.000Z", last: null });
		assert.match(String(createdAt), /^2026-11-27T16:4/);
		clock.set("2026-11-27T16:50:00Z");

		const { last, nextAt } = await ended(url, id);
		assert.deepEqual([last?.dueAt, last?.outcome, last?.reason], ["2026-11-27T16:50:00.000Z", "done", null]);
		assert.equal(nextAt, "2026-11-30T16:50:00.000Z");
		await hears(device, 1);
		const command = await eventually(
			async () => (await ask(url, "GET", `commands/${last?.job}`)).body,
			({ endedAt }) => typeof endedAt === "string",
		);
		assert.deepEqual([command.by, Object(command.devices)[0].state], ["monitor", "done"]);
		assert.deepEqual(heard(device), [loud.command.payload]);

		clock.set("2026-11-30T16:50:00Z");
		assert.equal((await ended(url, id, "2026-11-30T16:50:00.000Z")).last?.outcome, "done");
		await hears(device, 2);
		await make(url, { at, do: loud, on: false });
		const metrics = await (await fetch(`${url}/metrics`, { headers: bearer(monitorToken) })).text();
		assert.deepEqual(metrics.match(/^gateway_schedules.*$/gm), [
			'gateway_schedules{on="true",outcome="done"} 1',
			'gateway_schedules{on="false",outcome="none"} 1',
		]);
	});

	test("announces once as a timer, stays listed for a day, and is then removed", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T12:12:00Z");
		const device = await connect();
		const announcement = { ...song.announcement, chime: "attention", chimeVolume: 30, volume: 60 };
		const id = await make(url, { at: { in: 1 }, do: { announcement } });
		const [made] = await schedulesOf(url);
		assert.match(made?.nextAt ?? "", /^2026-11-27T12:12:0/);
		const { last, nextAt } = await ended(url, id);
		assert.deepEqual([last?.outcome, nextAt], ["done", null]);
		await hears(device, 1);
		const [play] = heard(device);
		const { id: job, chime, chime_volume, volume } = Object(Object(play).value);
		assert.deepEqual([job, chime, chime_volume, volume], [last?.job, "attention", 30, 60]);
		clock.set("2026-11-28T12:11:00Z");
		assert.equal((await schedulesOf(url)).length, 1);
		clock.set("2026-11-28T12:13:00Z");
		await eventually(
			() => schedulesOf(url),
			({ length }) => length === 0,
		);
		await hears(device, 1);
	});

	for (const [direction, time] of [
		["forward", "2026-11-27T14:00:00Z"],
		["back", "2026-11-27T10:00:00Z"],
	] as const)
		test(`keeps the duration of a timer if the clock is set ${direction}`, async (t) => {
			const { url, clock, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
			const device = await connect();
			const [soon, later] = [
				await make(url, { at: { in: 2 }, do: loud }),
				await make(url, { at: { in: 720 }, do: loud }),
			];
			clock.set(time);
			const { last } = await ended(url, soon);
			assert.equal(last?.outcome, "done");
			assert.ok(Date.parse(last?.dueAt ?? "") >= clock.now() - 60_000, `due at ${last?.dueAt}`);
			await hears(device, 1);
			await eventually(
				async () => Object((await schedulesOf(url)).find(({ id }) => id === later)),
				({ nextAt: at }) => Math.abs(Date.parse(at) - clock.now() - 720_000) < 60_000,
			);
		});

	test("runs daily after the clock was days ahead, and not twice if hours", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		const device = await connect();
		const id = await make(url, { at: { weekly: { time: "18:00" } }, do: loud });
		const next = (day: number) =>
			eventually(
				async () => (await schedulesOf(url)).find((each) => each.id === id)?.nextAt,
				(nextAt) => nextAt === `2026-11-${day}T17:00:00.000Z`,
			);
		clock.set("2026-11-27T17:01:00Z");
		await ended(url, id);
		await hears(device, 1);
		clock.set("2026-11-27T16:59:59Z");
		await ended(url, await make(url, { at: { in: 2 }, do: loud }));
		await next(28);
		clock.set("2026-11-29T18:00:00Z");
		await next(30);
		clock.set("2026-11-27T18:00:00Z");
		await next(28);
		await hears(device, 2);
	});

	test("runs once at a local time", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		await connect();
		const id = await make(url, { at: { once: "2026-11-28T07:30" }, do: loud });
		assert.equal((await schedulesOf(url))[0]?.nextAt, "2026-11-28T06:30:00.000Z");
		clock.set("2026-11-28T06:30:00Z");
		const { last, nextAt } = await ended(url, id);
		assert.deepEqual([last?.outcome, nextAt], ["done", null]);
	});

	test("does nothing while disabled or deleted, and uses a changed time", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		const device = await connect();
		const daily = { at: { weekly: { time: "18:00" } }, do: loud };
		const off = await make(url, { ...daily, on: false });
		const gone = await make(url, daily);
		const changed = await make(url, daily);
		assert.equal((await ask(url, "DELETE", `schedules/${gone}`)).status, 204);
		const later = { at: { weekly: { time: "18:30" } }, do: loud };
		const { status, body } = await ask(url, "PUT", `schedules/${changed}`, later);
		assert.deepEqual([status, body.nextAt], [200, "2026-11-27T17:30:00.000Z"]);
		clock.set("2026-11-27T17:01:00Z");
		const due = await make(url, { at: { in: 1 }, do: loud });
		await ended(url, due);
		await hears(device, 1);
		clock.set("2026-11-27T17:31:00Z");
		await ended(url, changed);
		await hears(device, 2);
		const [, , offOne] = await schedulesOf(url);
		assert.deepEqual([offOne?.id, offOne?.nextAt, offOne?.last], [off, null, null]);
	});

	test("that cannot start fails with a message, and is reported", ofFleet, async (t) => {
		const { url, clock, connect, told } = await runTimed(t, "2026-11-27T12:00:00Z");
		await connect();
		await ask(url, "PATCH", "devices/dev-1-000001", { room: "Kitchen" });
		const at = { weekly: { time: "18:00" } };
		const action = { command: { ...loud.command, targets: { room: "Kitchen" } } };
		const id = await make(url, { name: "Dinner", at, do: action });
		await ask(url, "PATCH", "devices/dev-1-000001", { room: "" });
		clock.set("2026-11-27T17:00:00Z");
		const { last, nextAt } = await ended(url, id);
		const reason = "No device is in the room Kitchen; there is no room.";
		assert.deepEqual([last?.outcome, last?.reason, last?.job], ["failed", reason, null]);
		assert.equal(nextAt, "2026-11-28T17:00:00.000Z");
		const dueAt = "2026-11-27T17:00:00.000Z";
		await isTold(told);
		assert.deepEqual(told, [
			{ type: "schedule_failed", id, name: "Dinner", outcome: "failed", dueAt, reason },
		]);
	});

	test("follows the new name of its room", ofFleet, async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		const device = await connect();
		await ask(url, "PATCH", "devices/dev-1-000001", { room: "Kitchen" });
		const at = { once: "2026-11-27T14:00" };
		const action = { command: { ...loud.command, targets: { room: "Kitchen" } } };
		const id = await make(url, { at, do: action });
		await ask(url, "PATCH", "devices/dev-1-000001", { room: "Hall" });
		clock.set("2026-11-27T13:00:00Z");
		assert.equal((await ended(url, id)).last?.outcome, "done");
		await hears(device, 1);
	});

	test("fails if its text cannot be spoken, as an issue until dismissed", async (t) => {
		const { url, connect, told } = await runTimed(t, "2026-11-27T12:00:00Z", {
			environment: { SPEECH_COMMAND: "false" },
		});
		await connect();
		const announcement = { text: "Pizza", targets };
		const id = await make(url, { name: "Dinner", at: { in: 1 }, do: { announcement } });
		const { last } = await ended(url, id);
		assert.equal(last?.outcome, "failed");
		assert.match(last?.reason ?? "", /^SPEECH_COMMAND produced no sound\./);
		await isTold(told);
		if (ofFleet.skip) return;
		const listed = async () => Object((await ask(url, "GET", "refusals")).body).refusals[0];
		const item = await listed();
		assert.deepEqual([item.what, item.remoteAddress, item.reason], ["schedule", "Dinner", last?.reason]);
		const items = [{ kind: "refused", id: item.id, since: item.lastAt }];
		await ask(url, "POST", "attention/seen", { items });
		assert.equal((await listed()).seen, true);
	});
});

describe("sound of a schedule", ofActions, () => {
	const upload = async (url: string, query: string) => {
		const headers = { ...bearer(monitorToken), "Content-Type": "audio/wav" };
		const response = await fetch(`${url}/api/sounds?${query}`, { method: "POST", headers, body: wav });
		assert.equal(response.status, 201);
	};
	const remove = (url: string) => ask(url, "DELETE", `sounds/${soundId}`);
	const announcement = { sound: soundId, targets };

	test("cannot be deleted while a schedule will play it", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		await connect();
		await upload(url, "name=Gong");
		const once = await make(url, { name: "Closing", at: { once: "2026-11-27T14:00" }, do: { announcement } });
		const daily = await make(url, { at: { weekly: { time: "18:00" } }, do: { announcement } });
		const { status, body } = await remove(url);
		assert.equal(status, 409);
		assert.match(String(body.detail), /^Gong .*Closing.*18:00/);
		clock.set("2026-11-27T13:00:00Z");
		await ended(url, once);
		await ask(url, "PUT", `schedules/${daily}`, { at: { weekly: { time: "18:00" } }, do: loud });
		assert.equal((await remove(url)).status, 204);
	});

	test("is kept with its schedule if temporary, and removed after it", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const files = async () => (await fs.readdir(join(dataDir, "sound-files"))).length;
		const first = await runTimed(t, "2026-11-27T12:00:00Z", { dataDir });
		await first.connect();
		await upload(first.url, "name=Gong&temporary=true");
		const id = await make(first.url, { at: { once: "2026-11-28T18:00" }, do: { announcement } });
		await first.gateway.close();

		const second = await runTimed(t, "2026-11-27T14:00:00Z", { dataDir });
		const { sounds } = (await ask(second.url, "GET", "sounds")).body;
		assert.deepEqual(
			Object(sounds).map(({ name }: { name: string }) => name),
			["Gong"],
		);
		assert.equal(await files(), 1);
		await ask(second.url, "DELETE", `schedules/${id}`);
		await second.gateway.close();

		const third = await runTimed(t, "2026-11-27T16:00:00Z", { dataDir });
		await eventually(files, (count) => count === 0);
		assert.deepEqual((await ask(third.url, "GET", "sounds")).body.sounds, []);
	});
});

describe("schedule after a restart", ofActions, () => {
	test("is unchanged, runs late within 5 minutes, and is reported as missed after", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runTimed(t, "2026-11-27T12:00:00Z", { dataDir });
		await first.connect();
		const late = await make(first.url, { at: { in: 3600 }, do: loud });
		const missed = await make(first.url, { name: "Early", at: { weekly: { time: "13:30" } }, do: loud });
		const before = await schedulesOf(first.url);
		await first.gateway.close();

		const second = await runTimed(t, "2026-11-27T13:04:00Z", {
			dataDir,
			limits: { scheduleSettleMs: 3_000 },
		});
		const { url } = second;
		// Devices need longer to reconnect than the schedule's polling interval.
		await setTimeout(1_000);
		assert.deepEqual(await schedulesOf(url), before);
		const device = await second.connect();
		const done = await ended(url, late);
		assert.deepEqual([done.last?.outcome, done.nextAt], ["late", null]);
		await hears(device, 1);
		const leftOut = await ended(url, missed);
		const dueAt = "2026-11-27T12:30:00.000Z";
		const reason = "No gateway could run it within 5 minutes of its due time.";
		assert.deepEqual(
			[leftOut.last?.outcome, leftOut.last?.dueAt, leftOut.last?.reason],
			["missed", dueAt, reason],
		);
		assert.equal(leftOut.nextAt, "2026-11-28T12:30:00.000Z");
		const event = { type: "schedule_failed", id: missed, name: "Early", outcome: "missed", dueAt, reason };
		await isTold(second.told);
		assert.deepEqual(second.told, [event]);
		await hears(device, 1);
	});

	test("in another time zone keeps its local time; a due time that has passed still counts", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runTimed(t, "2026-11-27T12:00:00Z", { dataDir, timeZone: "UTC" });
		await first.connect();
		const ids: unknown[] = [];
		for (const at of [
			{ weekly: { time: "17:50" } },
			{ once: "2026-11-28T07:30" },
			{ in: 86_400 },
			{ once: "2026-11-27T13:30" },
			{ weekly: { time: "12:01" } },
		])
			ids.push(await make(first.url, { at, do: loud }));
		const timer = (await schedulesOf(first.url)).find(({ id }) => id === ids[2])?.nextAt;
		await first.gateway.close();

		const counts: unknown[] = [];
		const log = createLog("warn", { write: (line) => void counts.push(JSON.parse(line).count) });
		const { url } = await runTimed(t, "2026-11-27T12:50:00Z", { dataDir, log });
		assert.equal(counts[0], 5);
		const missed = [await ended(url, ids[3]), await ended(url, ids[4])];
		assert.deepEqual(
			missed.map(({ last, nextAt }) => [last?.dueAt, nextAt]),
			[
				["2026-11-27T12:30:00.000Z", null],
				["2026-11-27T12:01:00.000Z", "2026-11-28T11:01:00.000Z"],
			],
		);
		const schedules = await schedulesOf(url);
		assert.deepEqual(
			ids.slice(0, 3).map((id) => schedules.find((each) => each.id === id)?.nextAt),
			["2026-11-27T16:50:00.000Z", "2026-11-28T06:30:00.000Z", timer],
		);
		assert.deepEqual(new Set(schedules.map(({ zone }) => zone)), new Set(["Europe/Berlin"]));
	});

	test("reports several missed times once, and runs if the latest is recent", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runTimed(t, "2026-11-20T12:00:00Z", { dataDir });
		await first.connect();
		const id = await make(first.url, { at: { weekly: { time: "13:30" } }, do: loud });
		await first.gateway.close();
		const second = await runTimed(t, "2026-11-27T12:31:00Z", { dataDir });
		await second.connect();
		const { last, nextAt } = await ended(second.url, id, "2026-11-27T12:30:00.000Z");
		assert.deepEqual([last?.outcome, nextAt], ["late", "2026-11-28T12:30:00.000Z"]);
		await isTold(second.told);
		assert.deepEqual(
			second.told.map(({ outcome, dueAt }) => [outcome, dueAt]),
			[["missed", "2026-11-20T12:30:00.000Z"]],
		);
	});

	test("runs if the gateway was stopped while its text was spoken", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const program = join(dataDir, "speak.sh");
		await fs.writeFile(join(dataDir, "a.wav"), wav);
		await fs.writeFile(program, `#!/bin/sh\nsleep 1\ncat ${dataDir}/a.wav\n`);
		await fs.chmod(program, 0o755);
		const options = {
			dataDir,
			environment: { SPEECH_COMMAND: program },
			limits: { scheduleTakeOverMs: 300 },
		};
		const first = await runTimed(t, "2026-11-27T12:00:00Z", options);
		await first.connect();
		const id = await make(first.url, { at: { in: 1 }, do: { announcement: { text: "Pizza", targets } } });
		const begun = async () =>
			Object((await ask(first.url, "GET", "announcements")).body).announcements.length;
		await eventually(begun, (count) => count === 1);
		await first.gateway.close();
		const second = await runTimed(t, "2026-11-27T12:00:10Z", options);
		const device = await second.connect();
		const { last } = await ended(second.url, id);
		assert.deepEqual([last?.outcome, last?.reason], ["late", null]);
		await hears(device, 1);
		assert.deepEqual([first.told, second.told], [[], []]);
	});

	test("follows a clock that is set back while its text is spoken", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const program = join(dataDir, "speak.sh");
		const spoken = join(dataDir, "a.wav");
		await fs.writeFile(program, `#!/bin/sh\nuntil [ -s ${spoken} ]; do sleep 0.05; done\ncat ${spoken}\n`);
		await fs.chmod(program, 0o755);
		const environment = { SPEECH_COMMAND: program };
		const { url, clock, connect } = await runTimed(t, "2026-11-27T12:00:00Z", { dataDir, environment });
		const device = await connect();
		const announcement = { text: "Pizza", targets };
		const id = await make(url, { at: { weekly: { time: "18:00" } }, do: { announcement } });
		clock.set("2026-11-27T17:00:00Z");
		await eventually(
			async () => Object((await ask(url, "GET", "announcements")).body).announcements.length,
			(count) => count === 1,
		);
		clock.set("2026-11-20T12:00:00Z");
		await ended(url, await make(url, { at: { in: 1 }, do: loud }));
		await fs.writeFile(spoken, wav);
		await hears(device, 2);
		await eventually(
			async () => (await schedulesOf(url)).find((each) => each.id === id)?.nextAt,
			(nextAt) => nextAt === "2026-11-20T17:00:00.000Z",
		);
	});

	test("repeats under the same id, or is missed, if its result was not written", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runTimed(t, "2026-11-27T12:00:00Z", { dataDir });
		await first.connect();
		const id = String(await make(first.url, { at: { in: 60 }, do: loud }));
		const old = String(await make(first.url, { at: { in: 60 }, do: loud }));
		await first.gateway.close();
		for (const [name, dueAt] of [
			[id, "2026-11-27T12:01:00.000Z"],
			[old, "2026-11-27T11:50:00.000Z"],
		] as const) {
			const file = `${dataDir}/schedules/${name}.json`;
			const record = JSON.parse(await fs.readFile(file, "utf8"));
			const claim = { dueAt, job: "0123456789abcdef", gateway: "" };
			await fs.writeFile(file, JSON.stringify({ ...record, nextAt: null, claim }));
		}
		const limits = { scheduleTakeOverMs: 500 };
		const second = await runTimed(t, "2026-11-27T12:01:01Z", { dataDir, limits });
		const device = await second.connect();
		const { last } = await ended(second.url, id);
		assert.deepEqual([last?.outcome, last?.job], ["late", "0123456789abcdef"]);
		assert.equal((await ended(second.url, old)).last?.outcome, "missed");
		await hears(device, 1);
	});
});
