/**
 * Run by found-gateway.long.test.ts in its own networks: 10.99.1.1/24, the default route, 10.99.2.1/24, and
 * 10.0.0.1/8 around them.
 */

import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { type TestContext, test } from "node:test";
import { type Answer, decode, encode, type Packet, type Question } from "dns-packet";
import { onEnd } from "../support/cleanup.js";
import { eventually, nextEvent, waitUntil } from "../support/eventually.js";
import { readStartupOutput, startProcess } from "../support/gateway-process.js";
import { portOf } from "../support/ports.js";
import { deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";
import { powerOn } from "../support/scripted-gateway.js";

const group = "224.0.0.251";
const service = "_device-gateway._tcp.local";

async function startGateway(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
	const process = startProcess(t, {
		HOST: "0.0.0.0",
		DATA_DIR: await temporaryDirectory(t),
		DEVICE_TOKEN: deviceToken,
		MONITOR_TOKEN: monitorToken,
		...settings,
	});
	let log = "";
	process.stderr?.on("data", (text) => {
		log += text;
	});
	const { Devices = "" } = await readStartupOutput(process);
	return { process, port: Number(new URL(Devices).port), readLog: () => log };
}

/** Opens a multicast DNS socket in one of the networks. */
async function listen(
	t: TestContext,
	own: string,
	onPacket: (packet: Packet, port: number, address: string) => void,
): Promise<Socket> {
	const socket = createSocket({ type: "udp4", reuseAddr: true });
	socket.bind(5353);
	await nextEvent(socket, "listening");
	onEnd(t, () => socket.close());
	socket.addMembership(group, own);
	socket.setMulticastInterface(own);
	socket.on("message", (bytes, { port, address }) => onPacket(decode(bytes), port, address));
	return socket;
}

function textsOf(answers: readonly Answer[] = []): readonly string[] {
	return answers.flatMap((answer) => (answer.type === "TXT" ? [answer.data].flat().map(String) : []));
}

test("a device without an address connects to the gateway that knows its token, though another one responds first", async (t) => {
	const impostor = createServer();
	let connections = 0;
	impostor.on("connection", () => connections++);
	impostor.listen(0);
	await nextEvent(impostor, "listening");
	onEnd(t, () => impostor.close());
	const impostorUrl = `ws://10.99.1.1:${portOf(impostor)}/device`;
	let answered = 0;
	const socket = await listen(t, "10.99.1.1", ({ type, id, questions = [] }, port, address) => {
		const [question] = questions;
		if (type !== "query" || port === 5353 || !question) return;
		answered += 1;
		const [, , proof] = question.name.split(".");
		const data = ["path=/device", "tls=0", `address=${impostorUrl}`, `proof=${proof}`];
		const answers: Answer[] = [{ name: `impostor.${service}`, type: "TXT", data }];
		socket.send(
			encode({ type: "response", ...(id !== undefined && { id }), questions, answers }),
			port,
			address,
		);
	});

	const traced: string[] = [];
	const device = await powerOn(t, { url: "" }, "DEV-1", {
		settings: { gateway: "", token: deviceToken },
		onTrace: (text) => traced.push(text),
	});
	await waitUntil(() => answered > 0);
	const { port } = await startGateway(t, { PORT: "0" });
	const address = `ws://10.99.1.1:${port}/device`;
	const readSetting = () => device.setting("gateway");
	await eventually(readSetting, (known) => known === address);
	assert.match(traced.join(""), /^gateway connected/m);
	assert.match(traced.join(""), /does not know this device's token/);
	assert.equal(connections, 0, "the other gateway never got the token");
});

test("npm run device -- --discover connects to the gateway of its network", async (t) => {
	const { port } = await startGateway(t, { PORT: "0" });
	const settings = { DATA_DIR: await temporaryDirectory(t), DEVICE_TOKEN: deviceToken };
	const program = ["--import", "tsx", "scripts/device.ts"];
	const device = startProcess(t, settings, { program, words: ["--model", "DEV-1", "--discover"] });
	let output = "";
	device.stdout?.on("data", (text) => {
		output += text;
	});
	const readOutput = () => output;
	await eventually(readOutput, (text) => text.includes("gateway connected"));
	assert.ok(output.includes(`discovered gateway ws://10.99.1.1:${port}/device`), output);
});

test("a gateway announces itself, responds in each network with its address there, and says goodbye at its end", async (t) => {
	const heard: Packet[] = [];
	await listen(t, "10.99.1.1", (packet) => heard.push(packet));
	const { process, port } = await startGateway(t, { GATEWAY_NAME: "hall.1" });
	const recordsWith = (ttl: number) =>
		heard
			.flatMap(({ type, answers = [] }) => (type === "response" ? answers : []))
			.filter((record) => "ttl" in record && record.ttl === ttl);
	const readTexts = () => textsOf(recordsWith(120));
	await eventually(readTexts, (texts) => texts.slice(0, 2).join() === "path=/device,tls=0");
	const announced = recordsWith(120).flatMap((record) => (record.type === "A" ? [record.data] : []));
	assert.deepEqual([...new Set(announced)], ["10.99.1.1"]);

	const ofAll: Question = { name: service.toUpperCase(), type: "PTR" };
	const ofName: Question = { name: `${hostname().replace(/\..*/, "")}.local`, type: "A" };
	for (const [own, question] of [
		["10.99.1.1", ofAll],
		["10.99.2.1", ofAll],
		["10.99.2.1", ofName],
	] as const) {
		const client = createSocket("udp4");
		client.bind(0, own);
		await nextEvent(client, "listening");
		onEnd(t, () => client.close());
		client.setMulticastInterface(own);
		client.send(encode({ type: "query", id: 7, questions: [question] }), 5353, group);
		const [bytes] = await nextEvent(client, "message");
		const { id, questions = [], answers = [] } = decode(bytes);
		assert.deepEqual([id, ...questions.map(({ name, type }) => ({ name, type }))], [7, question]);
		const target = answers.flatMap((answer) => (answer.type === "SRV" ? [answer] : []))[0];
		assert.deepEqual([target?.name, target?.data.port], [`hall-1.${service}`, port]);
		const named = answers.flatMap((answer) =>
			answer.type === "PTR" || answer.type === "A" ? [[answer.name, answer.data]] : [],
		);
		assert.deepEqual(Object.fromEntries(named)[service], `hall-1.${service}`);
		assert.equal(Object.fromEntries(named)[target?.data.target ?? ""], own);
		assert.deepEqual(textsOf(answers), ["path=/device", "tls=0"], "no proof without a question");
	}

	process.kill("SIGTERM");
	await nextEvent(process, "exit");
	const readGoodbyes = () => recordsWith(0);
	await eventually(readGoodbyes, (records) => records.some(({ name }) => name === `hall-1.${service}`));
});

test("devices get PUBLIC_URL if set, and MDNS=off is silent", async (t) => {
	const heard: Answer[] = [];
	const client = await listen(t, "10.99.1.1", ({ type, answers = [] }) => {
		if (type === "response") heard.push(...answers);
	});
	const silent = await startGateway(t, { MDNS: "off" });
	await startGateway(t, { PUBLIC_URL: "https://gateway.example/hall" });
	heard.length = 0;
	const question = encode({ type: "query", questions: [{ name: service, type: "PTR" }] });
	const ask = () => client.send(question, 5353, group);
	await eventually(ask, () => heard.length > 0);
	assert.deepEqual(textsOf(heard).slice(0, 2), ["path=/hall/device", "tls=1"]);
	const ports = heard.flatMap((record) => (record.type === "SRV" ? [record.data.port] : []));
	assert.deepEqual([...new Set(ports)], [443]);
	assert.ok(!ports.includes(silent.port), `announced ports: ${ports}`);
});

test("a gateway whose mDNS port is in use logs it once and works otherwise", async (t) => {
	const taken = createSocket("udp4");
	taken.bind(5353);
	await nextEvent(taken, "listening");
	onEnd(t, () => taken.close());
	const { process, port, readLog } = await startGateway(t);
	await eventually(readLog, (log) => log.includes("devices cannot discover this gateway"));
	assert.equal((await fetch(`http://10.99.1.1:${port}/readyz`)).status, 200);
	process.kill("SIGTERM");
	assert.deepEqual(await nextEvent(process, "exit"), [0, null]);
	assert.equal(readLog().match(/multicast DNS/g)?.length, 1);
});
