import assert from "node:assert/strict";
import { test } from "node:test";
import { checkCommand, checkUplink, commands, features, uplinks } from "../../../device/protocol/messages.js";
import { models } from "../../../device/protocol/schema.js";
import { checkMonitorMessage, monitorMessages } from "../../../gateway/sockets/monitor-messages.js";
import { commandExamples, monitorExamples, uplinkExamples } from "../../../scripts/api/examples.js";
import { altered, type Json, sampleReport } from "../../../scripts/fixtures/sample-report.js";
import { type Client, type Frame, runGateway } from "../running.js";
import { ApiDocument } from "./schemas.js";

const document = new ApiDocument("asyncapi.yaml");
type Message = { [name: string]: Json };

function problemOf(value: unknown, schema: string): string | undefined {
	return document.problemOf(value, "components", "schemas", schema);
}

test("each message has an example, and it matches its schema", () => {
	const messages = document.at("components", "messages");
	for (const name of Object.keys(messages)) {
		const { examples } = document.at("components", "messages", name);
		assert.ok(Array.isArray(examples) && examples.length > 0, name);
		for (const { payload } of examples) assert.equal(problemOf(payload, name), undefined, name);
	}
	const known = [commands, uplinks, monitorMessages].flatMap((table) => Object.keys(table));
	assert.deepEqual(
		known.filter((name) => !(name in messages)),
		[],
	);
});

/** The message, and it with each of its fields taken out, and set to what it cannot be. */
function* spoilt(message: Message, inner: Message = message, path = ""): Generator<Message> {
	if (path === "") yield message;
	for (const [name, value] of Object.entries(inner)) {
		const where = `${path}${name}`;
		yield altered(message, where, undefined);
		for (const wrong of [null, -1, 0.5, 101, 4_294_967_296, "", "x".repeat(3000), true, {}, []])
			yield altered(message, where, wrong);
		if (typeof value === "object" && value !== null && !Array.isArray(value))
			yield* spoilt(message, value, `${where}.`);
	}
}

test("what the gateway takes from a device, the schemas take, and nothing else", () => {
	const samples: Message[] = [...models.map(sampleReport), ...Object.values(uplinkExamples).map(copy)];
	for (const sample of samples)
		for (const uplink of spoilt(sample)) {
			const isTaken = checkUplink(uplink).problem === undefined;
			assert.equal(problemOf(uplink, String(sample.type)) === undefined, isTaken, JSON.stringify(uplink));
		}
	const report = { ...sampleReport("DEV-1"), peripherals: sampleReport("PROTO-1").peripherals ?? null };
	assert.ok(problemOf(report, "state_report"), "a DEV-1 with a PROTO-1's fields");
});

test("what the gateway takes from a monitor, the schemas take, and nothing else", () => {
	for (const example of Object.values(commandExamples))
		for (const command of spoilt(copy(example))) {
			const isTaken = checkCommand(command).refusal === undefined;
			assert.equal(problemOf(command, example.command) === undefined, isTaken, JSON.stringify(command));
		}
	for (const example of Object.values(monitorExamples))
		for (const message of spoilt(copy(example))) {
			const isTaken = checkMonitorMessage(message).refusal === undefined && hasGoodPayload(message);
			assert.equal(problemOf(message, example.type) === undefined, isTaken, JSON.stringify(message));
		}
});

function hasGoodPayload(message: Message): boolean {
	return message.type !== "control_device" || checkCommand(message.payload).refusal === undefined;
}

function copy(value: object): Message {
	return JSON.parse(JSON.stringify(value));
}

test("each frame of the running gateway matches its schema", async (t) => {
	const gateway = await runGateway(t);
	const monitor = await gateway.monitor();
	const watch = requireFrames(monitor);
	watch(monitor.snapshot);
	const { device, session } = await gateway.namedDevice(monitor);
	for (const message of Object.values(uplinkExamples)) device.send(message);
	for (const message of [
		...Object.values(monitorExamples),
		"no JSON",
		[],
		{ type: "explode" },
		{ type: "boot_device", targetId: "nobody" },
		{ type: "control_device", targetId: session.sessionId, payload: { command: "set_volume" } },
		{ type: "control_device", targetId: session.sessionId, payload: commandExamples.set_haptics },
		{ type: "trigger_ota", targetId: session.sessionId, version: "9.9.9" },
	])
		watch(await monitor.ask(message));
	await gateway.monitor().then(({ snapshot }) => watch(snapshot));
});

/** Frames that a test does not read are looked at as well. */
function requireFrames(monitor: Client): (frame: Frame) => void {
	const watch = (frame: Frame) =>
		assert.equal(problemOf(frame, frame.type), undefined, JSON.stringify(frame));
	monitor.socket.on("message", (data) => watch(JSON.parse(data.toString())));
	return watch;
}

test("a command reaches the device as the schemas describe it", async (t) => {
	const gateway = await runGateway(t);
	const monitor = await gateway.monitor();
	const device = await gateway.device({
		"Device-Id": "proto-1-a1b2c3",
		"Device-Model": "PROTO-1",
		"Device-Features": features.join(","),
	});
	await monitor.change("connected");
	for (const payload of Object.values(commandExamples)) {
		const answer = await monitor.ask({ type: "control_device", targetId: "proto-1-a1b2c3", payload });
		assert.equal(answer.type, "ack", payload.command);
		assert.equal(problemOf(await device.next(), payload.command), undefined, payload.command);
	}
});
