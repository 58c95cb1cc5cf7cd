/** Tests of the deployment files: Dockerfile, compose.yaml, device-gateway.service and each haproxy.cfg of the documents. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { Authority } from "../support/certificates.js";
import { nextEvent } from "../support/eventually.js";
import { readStartupOutput, startProcess } from "../support/gateway-process.js";
import { pathOf, whyMissing } from "../support/programs.js";
import { bearer, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";

const read = (name: string) => readFile(join("gateway", name), "utf8");

/** Source and target of each COPY from the project in the last stage. */
function copiesOf(dockerfile: string): readonly (readonly string[])[] {
	const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
	return [...last.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words = ""]) => {
		const sources = words.split(" ");
		const target = sources.pop() ?? "";
		return sources.map((source) => [
			source,
			target.endsWith("/") ? join(target, source.replace(/.*\//, "")) : target,
		]);
	});
}

function commandOf(dockerfile: string): readonly string[] {
	return JSON.parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? "[]");
}

test("starts node in the image and the unit as npm start does", async () => {
	const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
	const command = scripts.start.replace(/^exec /, "");
	assert.equal(commandOf(await read("Dockerfile")).join(" "), command);
	assert.match(await read("Dockerfile"), /^USER node$/m, "not root");
	assert.match(await read("device-gateway.service"), new RegExp(`^ExecStart=/usr/bin/${command}$`, "m"));
});

test("passes systemd-analyze verify", { skip: whyMissing("systemd-analyze") }, async (t) => {
	const unit = (await read("device-gateway.service"))
		.replace("/usr/bin/node", process.execPath)
		.replace(/^(WorkingDirectory)=.*$/m, `$1=${resolve(".")}`);
	const file = join(await temporaryDirectory(t), "device-gateway.service");
	await writeFile(file, unit);
	const problemsOf = () =>
		spawnSync(pathOf("systemd-analyze"), ["verify", file], { encoding: "utf8" }).stderr;
	assert.equal(problemsOf(), "");
	await writeFile(file, unit.replace("ProtectHome=", "ProtectHomes="));
	assert.match(problemsOf(), /ProtectHomes/);
});

test("copies all files of the gateway and its page into the image, and no others", async (t) => {
	const dockerfile = await read("Dockerfile");
	const copies = copiesOf(dockerfile);
	const allowed = [...(await read("Dockerfile.dockerignore")).matchAll(/^!(.+)$/gm)].map(([, path]) => path);
	const installed = /^COPY (package\.json .+) \.\/$/m.exec(dockerfile)?.[1]?.split(" ") ?? [];
	const sources = new Set([...copies.map(([source]) => source), ...installed]);
	assert.deepEqual(allowed.sort(), [...sources].sort());

	const folder = await temporaryDirectory(t);
	for (const [source = "", target = ""] of copies) {
		await mkdir(dirname(join(folder, target)), { recursive: true });
		await cp(source, join(folder, target), { recursive: true });
	}
	await symlink(resolve("node_modules"), join(folder, "node_modules"));
	const [, ...program] = commandOf(dockerfile);
	const settings = { DATA_DIR: join(folder, "data"), DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };
	const gateway = startProcess(t, settings, { program, cwd: folder });
	const { origin } = new URL((await readStartupOutput(gateway)).Dashboard ?? "");
	assert.equal((await fetch(`${origin}/readyz`)).status, 200);
	if (existsSync("gateway/dashboard")) {
		const page = await fetch(origin, { headers: bearer(monitorToken) });
		assert.match(await page.text(), /assets\/chunk-/);
	}
	gateway.kill("SIGTERM");
	assert.deepEqual(await nextEvent(gateway, "exit"), [0, null]);
});

test("sets the variables of README.md in compose.yaml, with gateways that differ only in name", async () => {
	const { services } = parse(await read("compose.yaml"), { merge: true });
	const described = await read("README.md");
	const gateways = Object.keys(services).filter((name) => name.startsWith("gateway-"));
	assert.equal(gateways.length, 3);
	for (const name of gateways) {
		const { environment } = services[name];
		for (const variable of Object.keys(environment))
			assert.match(described, new RegExp(`^\\|.*\`${variable}\``, "m"));
		assert.equal(environment.GATEWAY_NAME, name);
		assert.equal(environment.DATA_DIR, undefined, "set by the image");
	}
});

test("validates the haproxy configurations, which remove a gateway after three checks of 3 s", {
	skip: whyMissing("haproxy", "openssl"),
}, async (t) => {
	const folder = await temporaryDirectory(t);
	const { cert, key } = new Authority(folder, "authority").issue("IP:127.0.0.1");
	await writeFile(join(folder, "gateway.pem"), `${cert}${key}`);
	const { configs } = parse(await read("compose.yaml"));
	const cluster = existsSync("gateway/cluster") ? [await read("cluster/README.md")] : [];
	const listed = cluster.map((text) => /^```\n(listen gateways\n[\s\S]+?)```$/m.exec(text)?.[1] ?? "");
	for (const text of [configs.haproxy.content, await read("haproxy.cfg"), ...listed]) {
		assert.match(text, / check inter 3s fall 3\b/);
		const file = join(folder, "haproxy.cfg");
		await writeFile(file, text.replaceAll("/etc/haproxy", folder));
		execFileSync(pathOf("haproxy"), ["-c", "-q", "-f", file], { stdio: "pipe" });
	}
	for (const text of listed) assert.match(text, /^ +bind 127\.0\.0\.1:/m);
});
