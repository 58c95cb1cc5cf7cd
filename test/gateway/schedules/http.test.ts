/** Rejected requests of schedules and quiet hours, and a full disk. */

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { deviceToken, monitorToken, temporaryDirectory } from "../../support/running.js";
import { ask, ended, ofActions, quietHoursOf, runTimed, schedulesOf } from "./gateway.js";

const targets = { all: true };
const identify = { command: { targets, payload: { command: "identify" } } };
const restart = { command: { targets, payload: { command: "restart" } } };
const daily = { weekly: { time: "17:50" } };
const schedule = { at: daily, do: identify };
const quiet = { targets, from: "22:00", until: "07:00", volume: 20 };

async function run(t: TestContext, options: Parameters<typeof runTimed>[2] = {}) {
	const timed = await runTimed(t, "2026-11-27T12:00:00Z", options);
	await timed.connect();
	return timed;
}

const announced = (more: object) => ({ announcement: { url: "http://10.0.0.1/a.wav", targets, ...more } });
const oneOfTimes =
	'at is one of {"weekly": {"time": "17:50"}}, {"once": "2026-11-28T07:30"} and {"in": 720}.';
const oneOfTargets =
	'targets is one of {"all": true}, {"room": "Kitchen"}, {"tags": "shop and not beta"} and {"devices": ["dev-1-7cdfa1a1b2c3"]}.';

describe("schedule is rejected with a message", ofActions, () => {
	const refused: Readonly<Record<string, readonly [body: object, detail: string | RegExp, status?: number]>> =
		{
			"without a time": [{ do: identify }, "at is missing."],
			"without what it does": [{ at: daily }, "do is missing."],
			"with a name that is no text": [
				{ ...schedule, name: 1 },
				"name must be a string of at most 64 characters.",
			],
			"with a long name": [
				{ ...schedule, name: "x".repeat(65) },
				"name must be a string of at most 64 characters.",
			],
			"with two times": [{ ...schedule, at: { ...daily, in: 10 } }, oneOfTimes],
			"with an unknown time": [
				{ ...schedule, at: { monthly: 1 } },
				"at must be an object with at least one of weekly, once, in, and nothing else.",
			],
			"with a wrong time of day": [
				{ ...schedule, at: { weekly: { time: "24:00" } } },
				"at.weekly.time must be a time of day such as 22:00, of at most 5 characters.",
			],
			"with an unknown day": [
				{ ...schedule, at: { weekly: { time: "17:50", days: ["Mon"] } } },
				"at.weekly.days.0 must be one of mon, tue, wed, thu, fri, sat, sun.",
			],
			"with no day": [
				{ ...schedule, at: { weekly: { time: "17:50", days: [] } } },
				"at.weekly.days must be a list of 1 to 7.",
			],
			"with a time with a zone": [
				{ ...schedule, at: { once: "2026-11-28T07:30Z" } },
				"at.once must be a local time such as 2026-11-28T07:30, of at most 16 characters.",
			],
			"with a time that is over": [
				{ ...schedule, at: { once: "2026-11-27T12:59" } },
				"at.once: 2026-11-27T12:59 is in the past or nonexistent in Europe/Berlin. Choose a later time.",
			],
			"with a day that no month has": [
				{ ...schedule, at: { once: "2027-02-30T12:00" } },
				/^at\.once: 2027-02-30T12:00 is in the past or nonexistent in Europe\/Berlin/,
			],
			"after no time": [{ ...schedule, at: { in: 0 } }, "at.in must be an integer from 1 to 604800."],
			"after more than a week": [
				{ ...schedule, at: { in: 604_801 } },
				"at.in must be an integer from 1 to 604800.",
			],
			"that does nothing": [
				{ at: daily, do: {} },
				"do must be an object with at least one of announcement, command, and nothing else.",
			],
			"that does two things": [
				{ at: daily, do: { ...identify, ...announced({}) } },
				"do is either announcement or command. Create a schedule for each.",
			],
			"that is neither on nor off": [{ ...schedule, on: "yes" }, "on must be true or false."],
			"with a wrong volume": [
				{ at: daily, do: announced({ volume: 101 }) },
				"do.announcement.volume must be an integer from 0 to 100.",
			],
			"with an unknown chime": [
				{ at: daily, do: announced({ chime: "gong" }) },
				"do.announcement.chime must be one of startup, wifi_connecting, wifi_connected, attention.",
			],
			"with a wrong volume of the chime": [
				{ at: daily, do: announced({ chimeVolume: -1 }) },
				"do.announcement.chimeVolume must be an integer from 0 to 100.",
			],
			"with two sounds": [
				{ at: daily, do: announced({ text: "Dinner" }) },
				"Specify exactly one of sound, url and text.",
			],
			"with a sound that is not kept": [
				{ at: daily, do: { announcement: { sound: "5f2a", targets } } },
				"Sound 5f2a not found. GET /api/sounds lists all.",
			],
			"with two targets": [
				{ at: daily, do: announced({ targets: { all: true, room: "Kitchen" } }) },
				oneOfTargets,
			],
			"for a room without a device": [
				{ at: daily, do: announced({ targets: { room: "Kitchen" } }) },
				/^No device is in the room Kitchen; /,
			],
			"with an unknown command": [
				{ at: daily, do: { command: { targets, payload: { command: "explode" } } } },
				/^payload: command must be one of set_volume, /,
			],
			"with a wrong value": [
				{ at: daily, do: { command: { targets, payload: { command: "set_volume", value: 101 } } } },
				"payload: set_volume: value must be an integer from 0 to 100.",
			],
			"with a text that no one speaks": [
				{ at: daily, do: { announcement: { text: "Dinner", targets } } },
				/^Speech requires SPEECH_COMMAND/,
				501,
			],
		};

	test("on creation and on change", async (t) => {
		const { url } = await run(t);
		const { body: made } = await ask(url, "POST", "schedules", schedule);
		const path = `schedules/${made.id}`;
		for (const [what, [body, detail, expected = 422]] of Object.entries(refused))
			for (const [method, to] of [
				["POST", "schedules"],
				["PUT", path],
			] as const) {
				const { status, body: problem } = await ask(url, method, to, body);
				assert.equal(status, expected, `${method} ${what}: ${problem.detail}`);
				if (typeof detail === "string") assert.equal(problem.detail, detail, what);
				else assert.match(String(problem.detail), detail, what);
			}
		for (const [method, to] of [
			["POST", "schedules"],
			["PUT", path],
		] as const) {
			const { status, body } = await ask(url, method, to, "at 17:50");
			assert.equal(status, 400);
			assert.match(String(body.detail), /^Send JSON of at most 64 KiB, such as \{"at":/);
		}
		assert.deepEqual(await schedulesOf(url), [made]);
		for (const method of ["PUT", "DELETE"]) {
			const { status, body } = await ask(url, method, "schedules/unknown", schedule);
			assert.deepEqual(
				[status, body.detail],
				[404, "No schedule has the id unknown. GET /api/schedules lists all."],
			);
		}
	});

	test("without permission for its action", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const token = "a-users-token-of-the-fixtures";
		const named = [{ name: "ben", role: "user", token }] as const;
		await writeTokenFile(fs, tokenPath(dataDir), { device: deviceToken, monitor: monitorToken, named });
		const { url } = await run(t, { dataDir, deviceToken: undefined, monitorToken: undefined });
		const { body: own } = await ask(url, "POST", "schedules", schedule, token);
		assert.equal(own.by, "ben");
		const { body: others } = await ask(url, "POST", "schedules", { ...schedule, do: restart });
		for (const [method, path, body] of [
			["POST", "schedules", { ...schedule, do: restart }],
			["PUT", `schedules/${own.id}`, { ...schedule, do: restart }],
			["PUT", `schedules/${others.id}`, schedule],
			["DELETE", `schedules/${others.id}`, undefined],
		] as const) {
			const { status, body: problem } = await ask(url, method, path, body, token);
			assert.equal(status, 403, `${method} ${path}`);
			assert.match(String(problem.detail), /^This token may play, .* Use a token with the role monitor\.$/);
		}
		assert.equal((await ask(url, "PUT", `schedules/${own.id}`, schedule, token)).status, 200);
		assert.equal((await ask(url, "DELETE", `schedules/${own.id}`, undefined, token)).status, 204);
	});

	test("above 200", async (t) => {
		const { url } = await run(t);
		for (let count = 0; count < 200; count += 1)
			assert.equal((await ask(url, "POST", "schedules", schedule)).status, 201);
		const { status, body } = await ask(url, "POST", "schedules", schedule);
		assert.deepEqual([status, body.detail], [409, "200 schedules exist, the maximum. Delete one first."]);
	});
});

describe("quiet hours are rejected with a message", () => {
	const oneOf = 'targets is one of {"all": true}, {"room": "Kitchen"} and {"device": "dev-1-7cdfa1a1b2c3"}.';
	const refused: Readonly<Record<string, readonly [body: object, detail: string | RegExp]>> = {
		"without targets": [{ ...quiet, targets: undefined }, "targets is missing."],
		"with two targets": [{ ...quiet, targets: { all: true, room: "Kitchen" } }, oneOf],
		"for no one": [{ ...quiet, targets: { all: false } }, oneOf],
		"for a device that is not known": [
			{ ...quiet, targets: { device: "dev-1-000009" } },
			"targets: device dev-1-000009 not found. GET /api/devices lists all.",
		],
		"for a room without a device": [
			{ ...quiet, targets: { room: "Kitchen" } },
			/^No device is in the room Kitchen; /,
		],
		"without a beginning": [{ ...quiet, from: undefined }, "from is missing."],
		"with a wrong beginning": [
			{ ...quiet, from: "10 pm" },
			"from must be a time of day such as 22:00, of at most 5 characters.",
		],
		"with a wrong end": [
			{ ...quiet, until: "7:00" },
			"until must be a time of day such as 22:00, of at most 5 characters.",
		],
		"with an unknown day": [
			{ ...quiet, days: ["monday"] },
			"days.0 must be one of mon, tue, wed, thu, fri, sat, sun.",
		],
		"without a limit": [
			{ ...quiet, volume: undefined, onlyUrgent: false },
			"At least one limit is required: volume, brightness or onlyUrgent.",
		],
		"with a wrong volume": [{ ...quiet, volume: 101 }, "volume must be an integer from 0 to 100."],
		"with a wrong brightness": [{ ...quiet, brightness: 2 }, "brightness must be a number from 0 to 1."],
		"with a wrong limit of sounds": [{ ...quiet, onlyUrgent: 1 }, "onlyUrgent must be true or false."],
		"that are neither on nor off": [{ ...quiet, on: 1 }, "on must be true or false."],
	};

	test("if invalid", async (t) => {
		const { url } = await run(t);
		for (const [what, [body, detail]] of Object.entries(refused)) {
			const { status, body: problem } = await ask(url, "PUT", "quiet-hours", body);
			assert.equal(status, 422, what);
			if (typeof detail === "string") assert.equal(problem.detail, detail, what);
			else assert.match(String(problem.detail), detail, what);
		}
		const { status, body } = await ask(url, "PUT", "quiet-hours", "at night");
		assert.equal(status, 400);
		assert.match(String(body.detail), /^Send JSON of at most 4 KiB, such as \{"targets":/);
		const { status: gone, body: problem } = await ask(url, "DELETE", "quiet-hours/unknown");
		const detail = "No set of quiet hours has the id unknown. GET /api/quiet-hours lists all.";
		assert.deepEqual([gone, problem.detail], [404, detail]);
		assert.deepEqual(await quietHoursOf(url), []);
	});
});

test(
	"creates and deletes nothing on a full disk, applies changes, and still fires timers",
	ofActions,
	async (t) => {
		let isFull = false;
		const full = () => Object.assign(new Error("full"), { code: "ENOSPC" });
		const isStored = (path: unknown) => isFull && /schedules|quiet-hours/.test(String(path));
		const open: typeof fs.open = async (path, ...rest) => {
			if (isStored(path)) throw full();
			return fs.open(path, ...rest);
		};
		const rm: typeof fs.rm = async (path, options) => {
			if (isStored(path)) throw full();
			return fs.rm(path, options);
		};
		const { url } = await run(t, { disk: { ...fs, open, rm } });
		const { body: kept } = await ask(url, "POST", "schedules", schedule);
		const { body: timer } = await ask(url, "POST", "schedules", { at: { in: 2 }, do: identify });
		const { body: hours } = await ask(url, "PUT", "quiet-hours", quiet);
		isFull = true;
		const rejection = async (method: string, path: string, body?: object) => {
			const { status, body: problem } = await ask(url, method, path, body);
			assert.equal(status, 507, `${method} ${path}`);
			return problem.detail;
		};
		const ids = async () => (await schedulesOf(url)).map(({ id }) => id).sort();
		const before = [kept.id, timer.id].sort();
		assert.equal(
			await rejection("POST", "schedules", schedule),
			"The schedule could not be written to the gateway's disk. It was not created.",
		);
		assert.deepEqual(await ids(), before);
		const again = "Writing is retried every second.";
		const change = { ...schedule, name: "Closing" };
		assert.equal(
			await rejection("PUT", `schedules/${kept.id}`, change),
			`The schedule is active, but not yet written to the gateway's disk. ${again}`,
		);
		const gone = "could not be removed from the gateway's disk. Try again.";
		assert.equal(await rejection("DELETE", `schedules/${kept.id}`), `The schedule ${gone}`);
		assert.deepEqual(await ids(), before);
		assert.equal((await schedulesOf(url)).find(({ id }) => id === kept.id)?.name, "Closing");
		assert.equal((await ended(url, timer.id)).last?.outcome, "done");
		assert.equal(
			await rejection("PUT", "quiet-hours", { ...quiet, volume: 10 }),
			`The set of quiet hours is active, but not yet written to the gateway's disk. ${again}`,
		);
		assert.equal(await rejection("DELETE", `quiet-hours/${hours.id}`), `The set of quiet hours ${gone}`);
		assert.equal((await quietHoursOf(url))[0]?.volume, 10);
		isFull = false;
		assert.equal((await ask(url, "DELETE", `schedules/${kept.id}`)).status, 204);
		assert.equal((await ask(url, "DELETE", `quiet-hours/${hours.id}`)).status, 204);
	},
);
