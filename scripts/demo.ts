/** `npm run demo`: runs a gateway and two virtual devices, one of each model. */

import { type Model, models } from "../device/protocol/schema.js";
import { createGateway } from "../gateway/gateway.js";
import { refuseArguments } from "../gateway/problem.js";
import { readSettings } from "../gateway/settings.js";
import { describeExit } from "../hosts/virtual/node/exit.js";
import { Identity } from "../hosts/virtual/node/identity.js";
import { VirtualDevice } from "../hosts/virtual/node/virtual-device.js";
import { runCommand } from "./command-line/command.js";
import { packageVersion } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { addRelease, readCatalog } from "./release/folder.js";
import { makeVirtualImages } from "./release/images.js";

const usage = `Usage: npm run demo

Runs a gateway and a virtual device of each model. Settings come from the environment, as for npm start; see gateway/README.md.`;

await runCommand({ name: "demo", usage, run });

async function run(words: readonly string[]): Promise<void> {
	refuseArguments(words);
	const settings = readSettings({ LOG_LEVEL: "warn", ...process.env });
	const gateway = createGateway(settings);
	const { url, port, loginUrl } = await gateway.listen();
	const devices: VirtualDevice[] = [];
	const close = async () => {
		await Promise.all(devices.map((device) => device.close()));
		await gateway.close();
	};
	let isStopping = false;
	const stop = async () => {
		// After Ctrl-C the signal comes twice: from the terminal, and from npm.
		if (isStopping) return;
		isStopping = true;
		await close();
		process.exit(0);
	};
	process.on("SIGINT", stop);
	process.on("SIGTERM", stop);

	const gatewayUrl = `${settings.tls ? "wss" : "ws"}://127.0.0.1:${port}/device`;
	try {
		await offerFirmware(settings.releasesDir);
		for (const model of models)
			devices.push(
				await startDevice(model, settings.dataDir, { gateway: gatewayUrl, token: gateway.tokens.device }),
			);
	} catch (error) {
		await close();
		throw error;
	}
	console.log(`Devices    ${devices.map((device) => device.deviceId).join(", ")}`);
	console.log(`Dashboard  ${settings.auth ? loginUrl : url}`);
	console.log("Ctrl-C ends all of it.");
}

/** A pre-release of this checkout where the folder has no release, so that the dashboard can install it on a new device. */
async function offerFirmware(releasesDir: string): Promise<void> {
	const { releases } = await readCatalog(releasesDir);
	if (releases.length > 0) return;
	const now = new Date();
	const version = `${packageVersion()}-demo`;
	const images = await makeVirtualImages(version, Math.floor(now.getTime() / 1000), builtInReleaseKeys());
	const notes = "Of this checkout, made by npm run demo.";
	await addRelease(releasesDir, { version, date: now.toISOString().slice(0, 10), notes, images });
}

function startDevice(
	model: Model,
	dataDir: string,
	settings: { readonly gateway: string; readonly token: string },
): Promise<VirtualDevice> {
	const identity = Identity.claim({ dataDir, model });
	const { deviceId, serial, flashFile } = identity;
	process.on("exit", () => identity.close());
	return VirtualDevice.start({
		model,
		serial,
		flashFile,
		settings,
		builtIn: { releaseKeys: builtInReleaseKeys() },
		onBoot: ({ version, isPendingVerify }) => {
			if (isPendingVerify) console.log(`${deviceId} starts ${version} for the first time`);
		},
		onExit: (exit) => console.error(`${deviceId} ended: ${describeExit(exit)}`),
	});
}
