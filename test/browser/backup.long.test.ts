import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { test } from "node:test";
import { ArchiveReader } from "../../gateway/backup/archive.js";
import { skip } from "../support/chromium.js";
import { runGateway } from "../support/running.js";
import { browsing } from "./browsing.js";

const open = browsing();

test("downloads a backup from the settings as monitor", { skip }, async (t) => {
	const { url } = await runGateway(t);
	const page = await open(t, url, { view: "#/settings/devices" });
	const downloading = page.waitForEvent("download");
	await page.getByRole("link", { name: "Download backup" }).click();
	const download = await downloading;
	assert.match(download.suggestedFilename(), /^backup-\d{4}-\d\d-\d\d\.tar\.gz$/);
	const reader = new ArchiveReader(createReadStream(await download.path()));
	const names: string[] = [];
	for await (const { name } of reader.files()) names.push(name);
	assert.ok(reader.about, "whole");
	assert.ok(names.includes("data/tokens.json"), names.join(", "));
});
