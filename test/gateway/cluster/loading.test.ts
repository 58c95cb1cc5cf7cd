import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { temporaryDirectory } from "../../support/cleanup.js";

test("loads NATS and gateway/cluster only with NATS_URL, except for its settings", async (t) => {
	const script = `import { Session } from "node:inspector/promises";
		const session = new Session();
		session.connect();
		let urls = "";
		session.on("Debugger.scriptParsed", ({ params }) => { urls += params.url + "\\n"; });
		await session.post("Debugger.enable");
		const started = import(${JSON.stringify(import.meta.resolve("../../../gateway/main.js"))});
		const isMissing = () => !["@nats-io/", "gateway/cluster/extension."].every((part) => urls.includes(part));
		// The start does not complete without servers.
		if (process.env.NATS_URL) while (isMissing()) await new Promise((resolve) => setTimeout(resolve, 50));
		else await started;
		process.stdout.write(urls, () => process.exit());`;
	const words = ["--input-type=module", "--eval", script];
	const areLoaded = async (environment: Readonly<Record<string, string>>) => {
		const env = { PATH: process.env.PATH, DATA_DIR: await temporaryDirectory(t), PORT: "0", ...environment };
		const { stdout } = await promisify(execFile)(process.execPath, words, { env });
		const parts = ["gateway/sessions/", "gateway/cluster/extension.", "@nats-io/"];
		return parts.map((part) => stdout.includes(part));
	};
	assert.deepEqual(await areLoaded({}), [true, false, false]);
	assert.deepEqual(await areLoaded({ NATS_URL: "nats://127.0.0.1:1" }), [true, true, true]);
});
