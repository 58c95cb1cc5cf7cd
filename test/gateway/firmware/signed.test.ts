/** Tests of signatures and security versions in uploads, the catalog and the selection for a device. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DeviceFit } from "../../../gateway/firmware/selection.js";
import {
	type FirmwareServer,
	filePart,
	form,
	runFirmwareServer,
	textPart,
} from "../../support/firmware-server.js";
import { makeImage, withoutHash } from "../../support/images.js";
import { badSignatures, makeReleaseKey } from "../../support/signing.js";

const image = makeImage();
const key = makeReleaseKey();
const other = makeReleaseKey();
const signature = key.sign(image);
const releaseKeys = [key.publicKey];
const device: DeviceFit = { model: "DEV-1", chip: "esp32s3" };

describe("upload to a gateway with release keys", () => {
	test("is stored with its signature as text or file before or after it, and sent with it", async (t) => {
		const asFile = filePart(Buffer.from(`${signature}\r\n`), "a.sig", "signature");
		for (const body of [
			form(textPart("signature", signature), filePart(image)),
			form(filePart(image), textPart("signature", signature)),
			form(filePart(image), asFile),
			form(asFile, filePart(image)),
		]) {
			const serving = await runFirmwareServer(t, { releaseKeys });
			const { status, json } = await serving.post(body);
			assert.deepEqual([status, json.signature, json.signature_required], [201, signature, true]);
			assert.equal((await chosen(serving, "custom")).signature, signature);
			const next = await runFirmwareServer(t, { releaseKeys, directory: serving.directory });
			assert.equal((await chosen(next, "custom")).signature, signature, "lost across a restart");
		}
	});

	test("may have trailing data, which the signature does not cover", async (t) => {
		const serving = await runFirmwareServer(t, { releaseKeys: [other.publicKey, key.publicKey] });
		for (const signed of [image, withoutHash(image)]) {
			const file = Buffer.concat([signed, Buffer.alloc(5000, "x")]);
			const right = form(filePart(file), textPart("signature", key.sign(signed)));
			assert.equal((await serving.post(right)).status, 201);
			const wrong = form(filePart(file), textPart("signature", key.sign(file)));
			assert.equal((await serving.post(wrong)).status, 422);
		}
	});

	test("is rejected with an invalid signature, and the previous one is kept", async (t) => {
		const serving = await runFirmwareServer(t, { releaseKeys });
		await serving.post(form(filePart(image, "good.bin"), textPart("signature", signature)));
		const post = async (...parts: readonly Buffer[]) => {
			const { status, json } = await serving.post(form(filePart(image), ...parts));
			assert.deepEqual([status, serving.store.current?.filename], [422, "good.bin"]);
			return String(json.detail);
		};
		for (const wrong of Object.values(badSignatures(key, image, makeImage({ version: "1.5.0" }))))
			if (wrong === undefined) assert.match(await post(), /^The image is not signed\. Send the signature/);
			else assert.match(await post(textPart("signature", wrong)), /^The image has a .* that matches no key/);
		const empty = Buffer.alloc(63).toString("base64");
		for (const text of ["", "  ", "signature", empty, "A".repeat(88), "A".repeat(5000)])
			for (const part of [textPart("signature", text), filePart(Buffer.from(text), "a.sig", "signature")])
				await post(part);
	});
});

describe("gateway without release keys", () => {
	test("accepts uploads and releases without or with any signature, which is sent to the device", async (t) => {
		const serving = await runFirmwareServer(t);
		assert.equal((await serving.upload(image)).status, 201);
		assert.equal((await chosen(serving, "custom")).signature, undefined);
		const ofOther = other.sign(image);
		assert.equal((await serving.post(form(filePart(image), textPart("signature", ofOther)))).status, 201);
		assert.equal((await chosen(serving, "custom")).signature, ofOther);
		const { status } = await serving.post(form(filePart(image), textPart("signature", "nonsense")));
		assert.equal(status, 422);
		await addTo(serving, "1.4.0", other.sign);
		assert.equal((await chosen(serving, "1.4.0")).signature?.length, 88);
	});
});

describe("upload that was stored with other settings", () => {
	/** Checks that the upload is shown with the reason, and neither served nor selected. */
	async function assertNotOffered(serving: FirmwareServer, reason: RegExp): Promise<void> {
		const { status, json } = await serving.request("/ota/status");
		assert.deepEqual([status, json.filename], [200, "firmware.bin"]);
		assert.match(String(json.problem), reason);
		const served = await serving.request("/ota/firmware.bin");
		assert.equal(served.status, 410);
		assert.match(String(served.json.detail), reason);
		for (const result of [
			await serving.selection.choose(device, "custom"),
			await serving.selection.choose(device, undefined),
			await serving.selection.pin({ version: "custom" }),
		]) {
			assert.ok("rejection" in result && result.rejection, "the upload is selected");
			assert.equal(result.rejection.code, "no_firmware");
			assert.match(result.rejection.message, reason);
		}
	}

	for (const [fault, signed, reason] of [
		["unsigned", [], /is not signed/],
		["signed with another key", [textPart("signature", other.sign(image))], /matches no key in RELEASE_KEYS/],
	] as const)
		test(`is not offered to a gateway with release keys if it is ${fault}`, async (t) => {
			const before = await runFirmwareServer(t);
			assert.equal((await before.post(form(filePart(image), ...signed))).status, 201);
			const { directory } = before;
			await assertNotOffered(await runFirmwareServer(t, { releaseKeys, directory }), reason);
			const after = await runFirmwareServer(t, { directory });
			assert.equal((await after.request("/ota/status")).json.problem, undefined);
			assert.equal((await chosen(after, "custom")).version, "1.4.0");
		});

	test("is not offered if images are validated again and it is none, else described by its image", async (t) => {
		const before = await runFirmwareServer(t, { checkImages: false });
		await before.upload(Buffer.from("third-party firmware"));
		const { directory } = before;
		await assertNotOffered(await runFirmwareServer(t, { directory }), /is not a valid image \(IMAGE_CHECK\)/);
		await before.upload(makeImage({ securityVersion: 1 }));
		assert.equal((await chosen(before, "custom")).version, null);
		const after = await runFirmwareServer(t, { directory });
		const { version, model, chip, problem } = (await after.request("/ota/status")).json;
		assert.deepEqual([version, model, chip, problem], ["1.4.0", "DEV-1", "esp32s3", undefined]);
		const { rejection } = await after.selection.choose({ ...device, securityVersion: 2 }, "custom");
		assert.equal(rejection?.code, "incompatible_firmware");
	});
});

test("serves no patch and no installation file of an unsigned release", async (t) => {
	const before = await runFirmwareServer(t);
	await addTo(before, "1.4.0");
	await addTo(before, "1.5.0");
	const path = "/releases/dev-1/firmware-v1.5.0.from-v1.4.0.patch";
	assert.equal((await before.request(path)).status, 200);
	const serving = await runFirmwareServer(t, { releaseKeys, directory: before.directory });
	const { status, json } = await serving.request(path);
	assert.equal(status, 503);
	assert.match(String(json.detail), /firmware-v1\.5\.0\.bin is not signed/);
});

test("offers only releases signed with one of the release keys", async (t) => {
	const serving = await runFirmwareServer(t, { releaseKeys });
	await addTo(serving, "1.4.0", key.sign);
	await addTo(serving, "1.5.0", other.sign);
	await addTo(serving, "1.6.0");
	assert.notEqual((await chosen(serving, "1.4.0")).signature, undefined);
	for (const [version, reason] of [
		[
			"1.5.0",
			/firmware-v1\.5\.0\.bin has a signature that matches no key in RELEASE_KEYS, or was modified after/,
		],
		["1.6.0", /firmware-v1\.6\.0\.bin is not signed/],
	] as const) {
		const { rejection } = await serving.selection.choose(device, version);
		assert.equal(rejection?.code, "no_firmware");
		assert.match(rejection.message, reason);
		const { status, json } = await serving.request(`/releases/dev-1/firmware-v${version}.bin`);
		assert.equal(status, 503);
		assert.match(String(json.detail), reason);
	}
	assert.equal((await serving.request("/releases/dev-1/firmware-v1.4.0.bin")).status, 200);
});

test("offers no release or upload with a security version below the device's", async (t) => {
	const serving = await runFirmwareServer(t);
	for (const [version, securityVersion] of Object.entries({ "1.4.0": 0, "1.5.0": 2 }))
		await serving.release(version, [makeImage({ version, securityVersion })]);
	await serving.upload(makeImage({ version: "1.6.0", securityVersion: 1 }));
	for (const [version, least, isOffered] of [
		["1.4.0", undefined, true],
		["1.4.0", 0, true],
		["1.4.0", 1, false],
		["1.5.0", 2, true],
		["latest", 3, false],
		[undefined, 3, false],
		["custom", 1, true],
		["custom", 2, false],
	] as const) {
		const { rejection } = await serving.selection.choose({ ...device, securityVersion: least }, version);
		assert.equal(rejection === undefined, isOffered, `${version} for ${least}: ${rejection?.message}`);
		if (rejection) assert.match(rejection.message, new RegExp(`the device requires at least ${least}`));
	}
	const [, release] = (await serving.catalog.read()).releases;
	assert.equal(release?.images[0]?.security_version, undefined, "0 is not written");
});

/** Adds a release with an image of this version. */
function addTo({ release }: FirmwareServer, version: string, sign?: (image: Uint8Array) => string) {
	return release(version, [makeImage({ version })], sign);
}

async function chosen({ selection }: FirmwareServer, version: string) {
	const choice = await selection.choose(device, version);
	if (choice.rejection) throw new Error(choice.rejection.message);
	return choice;
}
