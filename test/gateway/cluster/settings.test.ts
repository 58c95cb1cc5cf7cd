import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { nats } from "../../../gateway/cluster/settings.js";
import { temporaryDirectory } from "../../support/running.js";

test("reads NATS servers and the content of their files", async (t) => {
	const pem = join(await temporaryDirectory(t), "a.pem");
	await writeFile(pem, "PEM");
	const environment = {
		NATS_URL: "nats://a:4222, tls://user:secret@b.example:4223",
		NATS_CREDS: pem,
		NATS_CA: pem,
		NATS_ALLOW_OLD: "1",
	};
	assert.deepEqual(nats.read(environment), {
		servers: [new URL("nats://a:4222"), new URL("tls://user:secret@b.example:4223")],
		credentials: Buffer.from("PEM"),
		authority: Buffer.from("PEM"),
		allowOld: true,
	});
	assert.equal(nats.read({}), undefined);
});

test("rejects an invalid address without showing its password", () => {
	const read = () => nats.read({ NATS_URL: "nats://user:secret@" });
	assert.throws(read, ({ name, message }) => name === "StartError" && !message.includes("secret"));
});
