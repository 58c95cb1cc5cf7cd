import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { extensions } from "../../gateway/extensions.js";
import { downloadBackup } from "../support/backups.js";
import { callCommand } from "../support/command-line.js";
import { listen } from "../support/ports.js";
import { deviceToken, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";

async function setUp(t: TestContext) {
	const folder = await temporaryDirectory(t);
	const webhooksFile = join(folder, "webhooks-of-the-gateway.json");
	await writeFile(webhooksFile, '[{"url":"https://example.org/hook","secret":"secret-of-the-webhook"}]');
	const { url } = await runGateway(t, {
		dataDir: join(folder, "data"),
		extensions: [...extensions, () => ({ services: { webhooksPath: webhooksFile } })],
	});
	const file = join(folder, "backup.tar.gz");
	const restored = join(folder, "restored");
	return {
		folder,
		url,
		file,
		restored,
		backUp: (...words: string[]) =>
			callCommand("scripts/backup.ts", [file, "--gateway", url, ...words], { MONITOR_TOKEN: monitorToken }),
		restore: (...words: string[]) =>
			callCommand("scripts/restore.ts", [file, ...words], {
				DATA_DIR: restored,
				RELEASES_DIR: join(folder, "images"),
			}),
	};
}

describe("npm run backup and npm run restore", () => {
	test("restore the data folder, with the tokens in use and the webhooks", async (t) => {
		const { file, restored, ...set } = await setUp(t);
		const { code, output } = await set.backUp();
		assert.equal(code, 0, output);
		assert.match(output, /contains unencrypted tokens .*mode 0600/);
		assert.equal((await stat(file)).mode & 0o777, 0o600);
		const again = await set.backUp();
		assert.equal(again.code, 1);
		assert.match(again.output, /already exists/);

		const { code: restoredCode, output: said } = await set.restore();
		assert.equal(restoredCode, 0, said);
		assert.match(said, /^Restored .*: 2 files/);
		assert.match(said, /WEBHOOKS_FILE=.*restored\/webhooks\.json/);
		const tokens = JSON.parse(await readFile(join(restored, "tokens.json"), "utf8"));
		assert.deepEqual([tokens.device, tokens.monitor], [deviceToken, monitorToken]);
		const second = await set.restore();
		assert.equal(second.code, 1);
		assert.match(second.output, /DATA_DIR is ".*restored", which is not empty/);
	});

	test("keep no secret readable with a passphrase", async (t) => {
		const { folder, file, restored, ...set } = await setUp(t);
		const [passphrase, again] = [join(folder, "of-a-file"), join(folder, "as-typed-again")];
		await writeFile(passphrase, "correct horse\r\n");
		await writeFile(again, "correct horse");
		const { code, output } = await set.backUp("--passphrase-file", passphrase);
		assert.equal(code, 0, output);
		const text = gunzipSync(await readFile(file)).toString("latin1");
		for (const secret of [monitorToken, deviceToken, "secret-of-the-webhook"])
			assert.ok(!text.includes(secret), secret);
		assert.equal((await set.restore("--passphrase-file", again)).code, 0);
		assert.match(await readFile(join(restored, "tokens.json"), "utf8"), new RegExp(monitorToken));
		assert.match(await readFile(join(restored, "webhooks.json"), "utf8"), /secret-of-the-webhook/);
	});

	test("leave no file after a wrong token", async (t) => {
		const { folder, file, url } = await setUp(t);
		const before = await readdir(folder);
		const env = { MONITOR_TOKEN: "not-the-monitor-token" };
		const { code, output } = await callCommand("scripts/backup.ts", [file, "--gateway", url], env);
		assert.equal(code, 1);
		assert.match(output, /Monitor token rejected by/);
		assert.deepEqual(await readdir(folder), before);
	});

	for (const ending of ["breaks off", "ends too early"])
		test(`leave no file when the download ${ending}`, async (t) => {
			const { folder, file, url } = await setUp(t);
			const content = await downloadBackup(url);
			const server = createServer((_request, response) => {
				response.writeHead(200);
				const half = content.subarray(0, content.length / 2);
				if (ending === "ends too early") response.end(half);
				else response.write(half, () => response.destroy());
			});
			const port = await listen(t, server);
			const before = await readdir(folder);
			const words = [file, "--gateway", `http://127.0.0.1:${port}`];
			const { code, output } = await callCommand("scripts/backup.ts", words, { MONITOR_TOKEN: monitorToken });
			assert.equal(code, 1);
			assert.match(output, ending === "breaks off" ? /Download interrupted/ : /damaged or incomplete/);
			assert.deepEqual(await readdir(folder), before);
		});
});
