import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { altered, sampleReport } from "../../../scripts/api/sample-report.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { writeReleases } from "../../support/releases.js";
import { bearer, Client } from "../../support/running.js";
import { printed, startProcess } from "../process.js";

interface Place {
	readonly url: string;
	readonly token: string;
}

/** Fields are there by the route. */
interface Answer {
	readonly status: string;
	readonly counts: Readonly<Record<string, number>>;
	readonly devices: readonly unknown[];
}

/** A device that connects again and again, and does what it is told. */
class ScriptedDevice {
	readonly id: string;
	version = "1.2.3";
	offers = 0;
	/** Called with "offered" and with "reported". */
	onStep: (step: string) => void = () => {};
	#isOn = true;
	#client: Client | undefined;

	constructor(id: string) {
		this.id = id;
	}

	async run({ url, token }: Place): Promise<void> {
		while (this.#isOn) {
			const headers = { ...bearer(token), "Device-Id": this.id, "Device-Model": "DEV-1" };
			const client = new Client(`${url.replace("http", "ws")}/device`, { headers });
			this.#client = client;
			await Promise.race([once(client.socket, "open").catch(() => {}), client.closed]);
			await this.#live(client, token).catch(() => {});
			await client.closed;
			// Nothing says when the gateway is back.
			if (this.#isOn) await setTimeout(50);
		}
	}

	end(): void {
		this.#isOn = false;
		this.#client?.socket.terminate();
	}

	async #live(client: Client, token: string): Promise<void> {
		const named = altered(sampleReport("DEV-1"), "deviceId", this.id);
		const report = altered(named, "system.firmware_version", this.version);
		client.send(altered(report, "health.uptime_seconds", 0));
		this.onStep("reported");
		for (;;) {
			const { command, url } = JSON.parse(await client.nextText());
			if (command !== "start_ota") continue;
			this.offers += 1;
			this.onStep("offered");
			// The download goes on over the gateway's restart.
			for (;;) {
				const answer = await fetch(url, { headers: bearer(token) }).catch(() => undefined);
				if (answer?.ok && (await answer.arrayBuffer().catch(() => undefined))) break;
				await setTimeout(50);
			}
			if (client.socket.readyState === client.socket.OPEN) client.send({ type: "ota_complete" });
			this.version = "1.4.0";
			client.socket.close();
			return;
		}
	}
}

test("a roll-out goes on after each kill (SIGKILL) of the gateway, and offers nothing twice", async (t: TestContext) => {
	const dataDir = await temporaryDirectory(t);
	const releases = join(dataDir, "releases");
	await writeReleases(releases, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const environment = { DATA_DIR: dataDir, RELEASES_DIR: releases, LOG_LEVEL: "warn" };
	const start = async (port: string) => {
		const child = startProcess(t, { ...environment, PORT: port });
		child.stderr?.resume();
		const { Devices = "" } = await printed(child);
		return { child, url: new URL(Devices.replace("ws", "http")).origin };
	};
	let { child, url } = await start("0");
	const { port } = new URL(url);
	const tokens = JSON.parse(await readFile(join(dataDir, "tokens.json"), "utf8"));
	const devices = ["dev-1-000001", "dev-1-000002"].map((id) => new ScriptedDevice(id));
	const [first, second] = devices;
	assert.ok(first && second);
	const call = async (method: string, path: string, body?: object) => {
		const response = await fetch(`${url}/api/${path}`, {
			method,
			headers: bearer(tokens.monitor),
			...(body && { body: JSON.stringify(body) }),
		});
		assert.ok(response.ok, `${response.status}`);
		const answer: Answer = JSON.parse(await response.text());
		return answer;
	};
	const nextStep = (device: ScriptedDevice, meant: string) =>
		new Promise<void>((resolve) => {
			device.onStep = (step) => step === meant && resolve();
		});
	const restart = async () => {
		child.kill("SIGKILL");
		await once(child, "exit");
		({ child, url } = await start(port));
	};

	const known = devices.map((device) => nextStep(device, "reported"));
	const work = devices.map((device) => device.run({ url, token: tokens.device }));
	onEnd(t, async () => {
		for (const device of devices) device.end();
		await Promise.all(work);
	});
	await Promise.all(known);
	const knownIds = async () => (await call("GET", "devices")).devices.length;
	while ((await knownIds()) < devices.length) await setTimeout(20);
	const offered = nextStep(first, "offered");
	const group = { size: "rest", concurrency: 1, soakSeconds: 0 };
	const plan = {
		firmware: { version: "1.4.0" },
		target: { devices: devices.map(({ id }) => id) },
		groups: [group],
	};
	await call("PUT", "rollouts/autumn", plan);
	await offered;
	await restart();
	await nextStep(second, "offered");
	const reported = nextStep(second, "reported");
	await reported;
	await restart();
	for (;;) {
		const { status, counts } = await call("GET", "rollouts/autumn");
		if (status !== "finished") {
			await setTimeout(100);
			continue;
		}
		assert.equal(counts.succeeded, devices.length, JSON.stringify(counts));
		break;
	}
	assert.deepEqual(
		devices.map(({ offers }) => offers),
		[1, 1],
	);
	await call("PUT", "rollouts/autumn", plan);
	assert.equal((await call("GET", "rollouts/autumn")).status, "finished");
});
