/** Gateway behind Debian's Caddy with gateway/Caddyfile. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually, nextEvent } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { freePort } from "../support/ports.js";
import { pathOf, whyMissing } from "../support/programs.js";
import { bearer, Client, deviceToken, monitorToken } from "../support/running.js";
import { noise, wav } from "../support/sounds.js";

/** @returns its authority's certificate in PEM */
async function runCaddy(t: TestContext, port: number, gateway: string): Promise<string> {
	const folder = await temporaryDirectory(t);
	let site = await readFile("gateway/Caddyfile", "utf8");
	for (const [from, to] of [
		["gateway.example", `https://127.0.0.1:${port}`],
		["127.0.0.1:8080", new URL(gateway).host],
	] as const) {
		assert.equal(site.split(from).length, 2, `${from} is in the block once`);
		site = site.replace(from, to);
	}
	// The computer's trust store is unchanged.
	const global = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n";
	const file = join(folder, "Caddyfile");
	await writeFile(file, `${global}${site}`);
	const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
	const caddy = spawn(pathOf("caddy"), ["run", "--adapter", "caddyfile", "--config", file], {
		env,
		stdio: "ignore",
	});
	onEnd(t, () => caddy.kill("SIGKILL"));
	return eventually(
		() => readFile(join(folder, "caddy/pki/authorities/local/root.crt"), "utf8"),
		(certificate) => certificate.includes("END CERTIFICATE"),
	);
}

test("gateway/Caddyfile forwards devices, monitors and uploads", {
	skip: whyMissing("caddy"),
}, async (t) => {
	const port = await freePort();
	const url = `https://127.0.0.1:${port}`;
	const fleet = await runFleet(t, undefined, {
		publicUrl: new URL(url),
		trustProxy: (address) => address === "127.0.0.1",
	});
	const ca = await runCaddy(t, port, fleet.url);
	const ask = async (path: string, method = "GET", body?: Buffer) => {
		const headers = { ...bearer(monitorToken), "Content-Type": "audio/wav" };
		const asked = request(`${url}${path}`, { method, headers, ca });
		asked.end(body);
		const [response] = await nextEvent(asked, "response");
		return { status: response.statusCode, body: JSON.parse(await text(response)) };
	};
	const setup = await eventually(
		() => ask("/api/device-setup"),
		({ status }) => status === 200,
	);
	const settings = {
		gateway: setup.body.addresses[0],
		token: deviceToken,
		ca: new X509Certificate(ca).raw.toString("base64"),
	};
	const { deviceId, report } = await fleet.powerOn("DEV-1", { settings });
	await report();
	const monitor = new Client(`${url.replace("http", "ws")}/monitor`, { headers: bearer(monitorToken), ca });
	onEnd(t, () => monitor.socket.terminate());
	await nextEvent(monitor.socket, "open");
	const volume = { command: "set_volume", value: 37 };
	monitor.send({ type: "control_device", targetId: deviceId, payload: volume });
	await monitor.until(({ message }) => JSON.stringify(message ?? "").includes('"volume":37'));
	const sound = await ask("/api/sounds?name=Dinner", "POST", wav(noise(32_000)));
	assert.equal(sound.status, 201, JSON.stringify(sound.body));
});
