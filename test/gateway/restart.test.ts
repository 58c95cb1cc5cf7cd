/** Tests that every acknowledged request and uplink survives a restart, for records of every kind. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { uplinks } from "../../device/protocol/messages.js";
import { isRecord, models } from "../../device/protocol/schema.js";
import { deviceIssueKinds, seenRequest } from "../../gateway/api/issues.js";
import { labelChange } from "../../gateway/api/label.js";
import { personRoles } from "../../gateway/api/person.js";
import { quietHoursRequest } from "../../gateway/api/quiet-hours.js";
import { scheduleRequest } from "../../gateway/api/schedule.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { inheritedNames, oddText, valid } from "../support/arbitraries.js";
import { filePart, form, formHeaders } from "../support/firmware-server.js";
import { makeImage } from "../support/images.js";
import { runs } from "../support/property-runs.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken, type RunningGateway, temporaryDirectory } from "../support/running.js";
import { sampleReport, withField } from "../support/sample-report.js";
import { seed } from "../support/seed.js";
import { noise, wav } from "../support/sounds.js";
import { release } from "./api/probes.js";
import { ask } from "./api/server.js";
import { runWholeGateway } from "./api/whole-gateway.js";

interface Request {
	readonly method: string;
	readonly path: string;
	readonly body?: unknown;
	readonly type?: string;
}

const headers = bearer(monitorToken);
const deviceIds = ["dev-1-a1b2c3", "constructor", "x".repeat(64), "A.b_c-9"];
const deviceId = fc.constantFrom(...deviceIds);
const name = fc
	.oneof(oddText, fc.constantFrom(...inheritedNames))
	.map((text) => Buffer.from(text).toString());
const small = fc.nat(9);
const anyZone = fc.constantFrom("Europe/Berlin", "europe/berlin", "EST5EDT", "+02:00", "GMT+2", "");
const someDevices = fc.oneof(
	fc.constant({ all: true }),
	deviceId.map((id) => ({ devices: [id] })),
);

const plan = fc.record(
	{
		firmware: fc.constant({ version: release.version }),
		target: fc.oneof(someDevices, fc.constantFrom({ model: "DEV-1" }, { tags: "constructor or not b" })),
		standing: fc.boolean(),
		window: fc.record(
			{ from: fc.constant("22:00"), to: fc.constant("00:00"), timeZone: anyZone },
			{ requiredKeys: ["from", "to"] },
		),
		startsAt: fc.constantFrom("2100-01-01T00:00Z", "0001-01-01T00:00:00Z"),
		deadline: fc.constantFrom("9999-12-31T23:59:59.999Z", "2199-12-31T23:59+14:00"),
	},
	{ requiredKeys: ["firmware", "target", "startsAt"] },
);
const plays = fc.record({ url: fc.webUrl(), targets: someDevices, volume: fc.nat(100) });
const identifies = someDevices.map((targets) => ({ targets, payload: { command: "identify" } }));
const action = fc.oneof(fc.record({ announcement: plays }), fc.record({ command: identifies }));
const dueAt = fc.oneof(
	fc.record({ weekly: valid(scheduleRequest.fields.at.fields.weekly) }),
	fc.constantFrom("2096-02-29T00:00", "9999-12-31T23:59", "2100-02-30T00:00").map((once) => ({ once })),
	fc.constant({ in: 604_800 }),
);
const place = fc.oneof(
	fc.constantFrom({ all: true }, { room: "constructor" }, { room: "Küche" }),
	deviceId.map((device) => ({ device })),
);
const seen = fc.record({ kind: fc.constantFrom(...deviceIssueKinds), id: deviceId });
const token = fc.record({
	name: fc.constantFrom("constructor", "9._-", "x".repeat(64), "__proto__"),
	role: fc.constantFrom(...personRoles),
});

const post = (path: string, body: unknown): Request => ({ method: "POST", path, body });
const requests: fc.Arbitrary<readonly Request[]> = fc.oneof(
	fc
		.tuple(
			deviceId,
			fc.oneof(valid(labelChange), fc.constantFrom({ room: "constructor" }, { room: "Küche" })),
		)
		.map(([id, body]) => [{ method: "PATCH", path: `/api/devices/${id}`, body }]),
	fc
		.oneof(valid(seenRequest), fc.record({ items: fc.array(seen) }))
		.map((body) => [post("/api/attention/seen", body)]),
	token.map((body) => [post("/api/tokens", body)]),
	fc
		.tuple(valid(scheduleRequest), dueAt, action)
		.map(([value, at, what]) => [post("/api/schedules", { ...Object(value), at, do: what })]),
	fc
		.tuple(valid(quietHoursRequest), place)
		.map(([value, targets]) => [
			{ method: "PUT", path: "/api/quiet-hours", body: { ...Object(value), targets } },
		]),
	// Releases its devices for the next rollout.
	fc
		.tuple(small, plan)
		.map(([index, body]) => [
			{ method: "PUT", path: `/api/rollouts/constructor${index}`, body },
			post(`/api/rollouts/constructor${index}/cancel`, {}),
		]),
	fc.tuple(name, small).map(([text, index]) => [
		{
			...post(`/api/sounds?name=${encodeURIComponent(text)}`, wav(noise(3200, index + 1))),
			type: "audio/wav",
		},
	]),
	fc.tuple(name, small).map(([text, index]) => {
		const file = filePart(makeImage({ version: `1.${index}.0` }), text.replace(/["\r\n\0]/g, "_"));
		return [{ ...post("/ota/upload", form(file)), type: formHeaders["Content-Type"] }];
	}),
);

const uplink = fc
	.tuple(
		fc.constantFrom("state_report", "crash_report", "ota_error", "ota_complete", "ota_progress"),
		fc.constantFrom(...models),
	)
	.chain(([type, model]) => valid(uplinks[type], model));

const lists = ["devices", "schedules", "quiet-hours", "sounds", "tokens", "rollouts", "audit"];
/** Fields that exist only for connected devices. */
const ofProcess = ["connected", "lastSeenAt", "usedAt", "attention", "holdsUntil"];

/** @returns the stored data as shown by each route */
async function picture(url: string): Promise<ReadonlyMap<string, unknown>> {
	const paths = [...lists, ...deviceIds.map((id) => `devices/${id}`)].map((path) => `/api/${path}`);
	const found = new Map<string, unknown>();
	for (const path of [...paths, "/ota/status"]) {
		const { status, body } = await ask(url, "GET", { path, headers });
		assert.equal(status, 200, `${path}: ${body}`);
		const content = JSON.parse(body.toString(), (field, value) =>
			ofProcess.includes(field) ? undefined : value,
		);
		found.set(path, content);
	}
	return found;
}

/** @param problems receives log lines about records */
function run(t: TestContext, dataDir: string, problems: string[]): Promise<RunningGateway> {
	const write = (line: string) =>
		void (/damaged|lost|left out|"level":"(error|fatal)"/.test(line) && problems.push(line));
	const limits = { uplinkBurst: 1e6, invalidUplinksAMinute: 1e6 };
	const log = createLog("warn", { write });
	return runWholeGateway(t, { dataDir, releasesDir: join(dataDir, "releases"), limits, log });
}

test("keeps acknowledged requests and uplinks across a restart", async (t) => {
	const dataDir = await temporaryDirectory(t);
	await writeReleases(join(dataDir, "releases"), [release]);
	const problems: string[] = [];
	const { url, gateway, device, monitor } = await run(t, dataDir, problems);
	const watching = await monitor();
	for (const id of deviceIds) {
		const client = await device({ "Device-Id": id });
		client.send(withField(sampleReport("DEV-1"), "deviceId", id));
		for (const value of fc.sample(uplink, { numRuns: runs(200), seed }))
			client.send(isRecord(value) && "deviceId" in value ? { ...value, deviceId: id } : value);
		client.send({ type: "command_error", deviceId: id, command: "", code: "busy", message: "the last" });
		await watching.until(({ message }) => isRecord(message) && message.type === "command_error");
	}
	const accepted = new Map<string, number>();
	await fc.assert(
		fc.asyncProperty(requests, async (all) => {
			for (const { method, path, type, body } of all) {
				const content = Buffer.isBuffer(body) ? body : JSON.stringify(body);
				const typed = { ...headers, ...(type && { "Content-Type": type }) };
				const { status, body: answer } = await ask(url, method, { path, headers: typed, body: content });
				assert.notEqual(status, 500, `${method} ${path}: ${answer}`);
				const route = `${method} ${path.split(/[/?]/, 3).join("/")}`;
				if (status < 300) accepted.set(route, (accepted.get(route) ?? 0) + 1);
			}
		}),
		{ numRuns: runs(200) },
	);
	assert.equal(accepted.size, 9, inspect(accepted));
	const acknowledged = await picture(url);
	await gateway.close();
	const next = await run(t, dataDir, problems);
	const found = await picture(next.url);
	for (const [path, content] of acknowledged) assert.deepEqual(found.get(path), content, path);
	assert.deepEqual(problems, []);
});
