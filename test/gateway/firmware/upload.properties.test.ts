/** Property test of uploads with any form. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mutatedText } from "../../support/arbitraries.js";
import { filePart, form, formHeaders, runFirmwareServer, textPart } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";
import { runs } from "../../support/property-runs.js";

const small = makeImage({ segments: [Buffer.from("the program")] });

test("rejects any other form with a documented status, and keeps the previous upload", async (t) => {
	const serving = await runFirmwareServer(t);
	let { json: previous } = await serving.upload(small);
	const other = makeImage({ version: "1.4.1", segments: [Buffer.from("another")] });
	const body = form(textPart("note", "x"), filePart(other));
	const cut = fc.nat(body.length - 1).map((end) => body.subarray(0, end));
	const changed = fc
		.array(fc.tuple(fc.nat(body.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
		.map((changes) => {
			const copy = Buffer.from(body);
			for (const [at, byte] of changes) copy[at] = byte;
			return copy;
		});
	const good = fc.constant(formHeaders["Content-Type"]);
	const mutated = mutatedText(good).map((each) => each.replace(/[^\x20-\x7e]/g, "").trim());
	const type = fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: mutated });
	await fc.assert(
		fc.asyncProperty(fc.oneof(cut, changed), type, async (content, contentType) => {
			const { status, json } = await serving.post(content, { "Content-Type": contentType });
			assert.ok([201, 400, 413, 415, 422].includes(status), `${status}: ${JSON.stringify(json)}`);
			const now = (await serving.request("/ota/status")).json;
			if (status !== 201) return assert.deepEqual(now, previous);
			// A byte changed in the part's header, or to the same value.
			assert.equal(now.version, "1.4.1");
			({ json: previous } = await serving.upload(small));
		}),
		{ numRuns: runs(150) },
	);
	assert.deepEqual(serving.problems, []);
});
