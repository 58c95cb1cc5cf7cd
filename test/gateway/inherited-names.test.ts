/** Tests with names inherited from Object.prototype, such as `constructor`, in every name that comes from outside. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { checkCommand, uplinks } from "../../device/protocol/messages.js";
import { isRecord, matches } from "../../device/protocol/schema.js";
import { mayDo } from "../../gateway/api/commands.js";
import { personRoles } from "../../gateway/api/person.js";
import { tag } from "../../gateway/api/tags.js";
import { readSettings } from "../../gateway/settings.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { inheritedNames } from "../support/arbitraries.js";
import { runs } from "../support/property-runs.js";
import { bearer, monitorToken, type RunOptions } from "../support/running.js";
import { sampleReport, withField, withFields } from "../support/sample-report.js";
import { described, knownPath, openApi } from "./api/probes.js";
import { ask } from "./api/server.js";
import { runWholeGateway } from "./api/whole-gateway.js";

const answerMs = 20_000;
const headers = bearer(monitorToken);

/** Runs a gateway with every extension. @returns the gateway, and the errors in its log, except rejections */
async function run(t: TestContext, options: RunOptions = {}) {
	const errors: string[] = [];
	const limits = { commandBurst: 1e6, uplinkBurst: 1e6, invalidUplinksAMinute: 1e6 };
	const write = (line: string) => void (line.includes('"type":"RequestError"') || errors.push(line));
	return {
		errors,
		...(await runWholeGateway(t, { log: createLog("error", { write }), limits, ...options })),
	};
}

const valid = described.map(({ method, path: route, names, example }) => {
	const { parameters } = openApi.at(...names);
	const fields = Array.isArray(parameters) ? parameters.filter(({ in: place }) => place === "query") : [];
	return { method, route, place: knownPath(route), fields: fields.map(({ name }) => String(name)), example };
});

/** Variants of the value with `name` as a value, an object that String() rejects, a field name or an extra field. */
function withName(value: unknown, name: string): unknown[] {
	if (Array.isArray(value))
		return value.flatMap((item, index) => withName(item, name).map((other) => value.with(index, other)));
	if (!isRecord(value)) return [name, { [name]: name }];
	const entries = Object.entries(value);
	const beside = [
		[...entries, [name, name]],
		[...entries, [name, { [name]: name }]],
	];
	const inside = entries.flatMap(([key, inner], index) => [
		...withName(inner, name).map((other) => entries.with(index, [key, other])),
		entries.with(index, [name, inner]),
	]);
	return [...beside, ...inside].map((fields) => Object.fromEntries(fields));
}

/** Requests with the name in one part of their path, query, body or form. */
function requestsWith(name: string) {
	return valid.flatMap(({ method, route, place, fields, example }) => {
		const inPath = route.includes("{") ? [route.replace(/\{\w+\}/, name)] : [];
		const queries = [...fields.map((field) => `${field}=${name}`), `${name}=1`, `${name}[${name}]=${name}`];
		const paths = [...inPath, ...queries.map((query) => `${place}?${query}`)];
		const bodies = isRecord(example) ? withName(example, name).map((body) => JSON.stringify(body)) : [];
		return [
			...paths.map((path) => ({ method, path, body: isRecord(example) ? JSON.stringify(example) : "" })),
			...bodies.map((body) => ({ method, path: place, body })),
		];
	});
}

test("handles inherited names in the path, query and body of each request", async (t) => {
	const { url, errors } = await run(t);
	await fc.assert(
		fc.asyncProperty(
			fc.constantFrom(...inheritedNames.flatMap(requestsWith)),
			async ({ method, path, body }) => {
				const { status } = await ask(url, method, { path, headers, ...(body && { body }) });
				assert.notEqual(status, 500);
				assert.deepEqual(errors, []);
			},
		),
		{ numRuns: runs(3000) },
	);
});

const messages = (value: object) =>
	fc.constantFrom(...inheritedNames.flatMap((name) => withName(value, name)));

test("answers each monitor message with an inherited name, for every role", async (t) => {
	const { api, errors, monitor, namedDevice, open } = await run(t);
	const { session } = await namedDevice(await monitor());
	const tokens = await Promise.all(
		personRoles.map(
			async (role) => (await api("POST", "/api/tokens", { name: `a-${role}`, role })).body.token,
		),
	);
	const monitors = await Promise.all(tokens.map((token) => open("/monitor", { headers: bearer(token) })));
	const target = { targetId: session.sessionId };
	const message = fc.oneof(
		messages({ type: "control_device", ...target, payload: { command: "set_volume", value: 3 } }),
		messages({ type: "boot_device", targetId: "x" }),
		messages({ type: "trigger_ota", ...target, version: "1.0.0" }),
		messages({ type: "subscribe", summary: false, devices: ["x"] }),
	);
	const index = fc.nat(monitors.length - 1);
	await fc.assert(
		fc.asyncProperty(index, message, async (at, value) => {
			const late = setTimeout(answerMs, { type: "no answer" }, { ref: false });
			const { type } = await Promise.race([monitors[at]?.request(value) ?? late, late]);
			assert.match(type, /^(ack|error)$/);
			assert.deepEqual(errors, []);
		}),
		{ numRuns: runs(4000) },
	);
});

test("accepts inherited names in a device's id, label, reports and metrics", async (t) => {
	const { api, errors, monitor, device } = await run(t);
	const watching = await monitor();
	for (const deviceId of inheritedNames.filter((inheritedName) =>
		matches(uplinks.state_report.fields.deviceId, inheritedName),
	)) {
		const client = await device({ "Device-Id": deviceId, "Device-Features": deviceId });
		const paths = ["deviceId", "system.firmware_version", "health.reset_reason", "network.wifi_ssid"];
		const fields = Object.fromEntries([...paths, deviceId].map((path) => [path, deviceId]));
		const report = withFields(sampleReport("DEV-1"), fields);
		client.send(report);
		client.send(withField(report, "peripherals.audio.volume", 7));
		client.send({ type: "command_error", deviceId, command: deviceId, code: "busy", message: deviceId });
		await watching.until(({ message }) => isRecord(message) && message.type === "command_error");
		const tags = matches(tag, deviceId) && { tags: [deviceId] };
		const label = { name: deviceId, room: deviceId, note: deviceId, ...tags };
		const path = `/api/devices/${deviceId}`;
		assert.equal((await api("PATCH", path, label)).status, 200, deviceId);
		const { body: shown } = await api("GET", path);
		assert.deepEqual(shown, { ...shown, deviceId, ...label, firmwareVersion: deviceId });
		assert.equal(shown.state.health.reset_reason, deviceId);
		const { text } = await api("GET", `${path}/history`);
		assert.ok(text.includes(`"reason":"${deviceId}"`), text);
	}
	assert.deepEqual(errors, []);
});

test("looks up no setting, role, route or command by an inherited name", () => {
	for (const name of inheritedNames) {
		for (const setting of ["LOG_LEVEL", "AUTH", "PORT", "MAX_UPLOAD", "TRUST_PROXY", "PUBLIC_URL"])
			assert.throws(() => readSettings({ [setting]: name }), { name: "StartError" });
		assert.equal(checkCommand({ command: name }).rejection?.code, "unknown_command");
		for (const role of personRoles) assert.equal(mayDo({ name, role }, name), role === "monitor");
	}
});
