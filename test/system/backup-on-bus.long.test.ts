import assert from "node:assert/strict";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { joinGateways } from "../../gateway/cluster/extension.js";
import { extensions } from "../../gateway/extensions.js";
import { natsBus } from "../gateway/cluster/nats-buses.js";
import { downloadBackup } from "../support/backups.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { runCommand } from "../support/command-line.js";
import { isNatsOld, startNats } from "../support/nats.js";
import { whyMissing } from "../support/programs.js";
import { runGateway } from "../support/running.js";

test("npm run restore rejects NATS servers that contain gateway data or do not respond", {
	skip: whyMissing("nats-server"),
}, async (t) => {
	const folder = await temporaryDirectory(t);
	const file = join(folder, "backup.tar.gz");
	const { url } = await runGateway(t, { dataDir: join(folder, "alone") });
	await writeFile(file, await downloadBackup(url));
	const server = await startNats(t);
	const restore = async (name: string) => {
		const command = runCommand(t, "scripts/restore.ts", [file], {
			DATA_DIR: join(folder, name),
			NATS_URL: server.url,
			NATS_ALLOW_OLD: isNatsOld ? "1" : "0",
		});
		return { code: await command.exitCode, output: command.output() };
	};

	const first = await restore("one");
	assert.equal(first.code, 0, first.output);
	assert.match(first.output, /Start the gateway with this folder before any other/);
	const { bus } = natsBus(t, [server.url]);
	await bus.open();
	const dataDir = join(folder, "one");
	const { gateway } = await runGateway(t, { dataDir, ...joinGateways(bus, dataDir, extensions) });
	const second = await restore("two");
	assert.equal(second.code, 1);
	assert.match(second.output, /^The servers of NATS_URL contain data of gateways \(gw-.* and \d+ more\)/);
	await gateway.close();
	await server.kill();
	const third = await restore("two");
	assert.equal(third.code, 1);
	assert.match(third.output, /^The servers of NATS_URL are unreachable/);
	await assert.rejects(stat(join(folder, "two")), { code: "ENOENT" });
});
