/** Tests of stored records: they are read back unchanged, and any other content is rejected or valid. */

import assert from "node:assert/strict";
import fs, { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { checkUplink, chips, deviceId, type Uplink, uplinks } from "../../device/protocol/messages.js";
import { matches, models, type Schema } from "../../device/protocol/schema.js";
import { generateTokens, readTokenFile, writeTokenFile } from "../../gateway/access/tokens.js";
import { parseJson } from "../../gateway/api/json.js";
import {
	applyUplink,
	isActive,
	jobsFile,
	metadataOf,
	timeOut,
	type UpdateJob,
	updateJob,
} from "../../gateway/firmware/update-job.js";
import { StartError } from "../../gateway/problem.js";
import { Device, Session } from "../../gateway/sessions/device.js";
import { deviceRecord } from "../../gateway/sessions/device-store.js";
import { sessionHead, textWithState } from "../../gateway/sessions/view.js";
import { anyJson, jsonText, mutatedText, oddValue, valid } from "../support/arbitraries.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { runs } from "../support/property-runs.js";
import { makeHandshake, silentLink } from "../support/record-stubs.js";

const maxTimeMs = 8.64e15;
const time = fc.integer({ min: 0, max: 2 ** 42 });
/** Contents similar to a valid one: a value replaced, a character changed, or arbitrary text. */
const contentNear = (good: fc.Arbitrary<string>) =>
	fc.oneof(mutatedText(good), jsonText(anyJson), fc.string());

/** Replaces one value of a JSON text, at any depth. */
function withOther(good: fc.Arbitrary<string>): fc.Arbitrary<string> {
	return fc.tuple(good, fc.nat(30), oddValue).map(([text, at, other]) => {
		let count = 0;
		return (
			JSON.stringify(JSON.parse(text, (_name, value: unknown) => (count++ === at ? other : value))) ?? ""
		);
	});
}

/** Validated uplink; undefined if its model has other fields. */
function asUplink(value: unknown): Uplink | undefined {
	const checked = checkUplink(parseJson(JSON.stringify(value)));
	return checked.problem === undefined ? checked.uplink : undefined;
}
const uplinkOf = (schemas: readonly Schema[]) =>
	fc
		.oneof(...models.flatMap((of) => schemas.map((schema) => valid(schema, of))))
		.map(asUplink)
		.filter((message) => message !== undefined);
const uplink = uplinkOf(Object.values(uplinks));
const report = uplinkOf([uplinks.state_report]).filter((message) => message.type === "state_report");

const device = fc
	.record(
		{
			name: valid(deviceId).map(String),
			address: fc.ipV6(),
			chip: fc.constantFrom(undefined, ...chips),
			connectedAt: time,
			settingsKeptAt: time,
			reports: fc.array(report, { maxLength: 3 }),
		},
		{ noNullPrototype: true },
	)
	.map(({ name, address: remoteAddress, chip, connectedAt, settingsKeptAt, reports }) => {
		const handshake = { ...makeHandshake(name), chip, remoteAddress };
		const made = new Device(name, new Session(handshake, silentLink, connectedAt));
		made.chip = chip;
		made.settingsKeptAt = settingsKeptAt;
		for (const [index, received] of reports.entries())
			made.report(received, Buffer.from(JSON.stringify(received)), connectedAt + index, index * 1000);
		return made;
	});

const textOf = (known: Device) => JSON.stringify(deviceRecord.format(known));
const contentOf = (known: Device) => {
	const { connected: _, ...head } = sessionHead(known.session);
	return {
		text: textWithState(head, known),
		lists: [known.versions, known.resets, known.firstSeenAt, known.lastReportAt, known.settingsKeptAt],
	};
};

test("reads a device record back unchanged, with any reports", () => {
	fc.assert(
		fc.property(device, (original) => {
			const read = deviceRecord.parse(JSON.parse(textOf(original)), original.deviceId);
			assert.ok(read, "the record was rejected");
			assert.deepEqual(contentOf(read), contentOf(original));
		}),
	);
});

test("reads any other record as a valid device or none", () => {
	const good = device.map(textOf);
	fc.assert(
		fc.property(fc.oneof(withOther(good), contentNear(good)), (content) => {
			const read = parsed(() => deviceRecord.parse(JSON.parse(content), "d"));
			if (!read) return;
			JSON.parse(contentOf(read).text);
			assert.ok(read.model === undefined || models.includes(read.model), `model ${read.model}`);
			for (const { at } of [...read.versions, ...read.resets])
				assert.ok(Math.abs(at) <= maxTimeMs, `time ${at}`);
		}),
		{ numRuns: runs(500) },
	);
});

/** Reads a record; undefined for a SyntaxError or TypeError, which denote damaged records. */
function parsed<T>(read: () => T): T | undefined {
	try {
		return read();
	} catch {
		return undefined;
	}
}

const context = fc.record({
	now: time,
	ageMs: fc.nat(1e7),
	updatedAgoMs: fc.nat(1e7),
	upload: fc.constantFrom(undefined, { sha256: "a".repeat(64), version: "v".repeat(32) }),
	runningVersion: fc.constantFrom(null, "1.0.0", "x".repeat(32)),
	isNewSession: fc.boolean(),
});
const job = valid(updateJob).filter((value): value is UpdateJob => matches(updateJob, value));
const history = fc
	.tuple(fc.array(job, { maxLength: 3 }), fc.array(fc.tuple(uplink, context, fc.boolean()), { maxLength: 8 }))
	.map(([jobs, said]) =>
		said.reduce<readonly UpdateJob[]>((known, [message, when, isSilent]) => {
			const last = known.at(-1);
			const followed = applyUplink(known, message, when);
			return isSilent && isActive(last) ? [...known.slice(0, -1), timeOut(last, when.now)] : followed;
		}, jobs),
	);

test("reads updates back unchanged, with any uplinks", () => {
	fc.assert(
		fc.property(history, (jobs) => {
			assert.deepEqual(jobsFile.parse(jobsFile.format(jobs)), jobs);
		}),
		{ numRuns: runs(500) },
	);
	const good = history.map((jobs) => JSON.stringify(jobsFile.format(jobs)));
	fc.assert(
		fc.property(fc.oneof(withOther(good), contentNear(good)), (content) => {
			for (const update of parsed(() => jobsFile.parse(JSON.parse(content))) ?? []) {
				const { otaStatus, otaPercent } = metadataOf(update);
				assert.equal(typeof otaStatus, "string");
				assert.ok(
					otaPercent === null || (Number.isInteger(otaPercent) && otaPercent >= 0 && otaPercent <= 100),
					`progress of ${otaPercent} %`,
				);
			}
		}),
		{ numRuns: runs(500) },
	);
});

test("reads tokens back unchanged, and rejects any other content with a remedy unless valid", async (t) => {
	const path = join(await temporaryDirectory(t), "tokens.json");
	const good = fc.constant(0).map(generateTokens);
	const file = fc
		.tuple(good, fc.option(good))
		.map(([tokens, previous]) => ({ ...tokens, ...(previous && { previous }) }));
	await fc.assert(
		fc.asyncProperty(file, async (tokens) => {
			await writeTokenFile(fs, path, tokens);
			assert.deepEqual(await readTokenFile(fs, path), tokens);
		}),
		{ numRuns: runs(20) },
	);
	const goodText = file.map((tokens) => JSON.stringify(tokens));
	await fc.assert(
		fc.asyncProperty(fc.oneof(withOther(goodText), contentNear(goodText)), async (content) => {
			await writeFile(path, content);
			try {
				const tokens = await readTokenFile(fs, path);
				for (const token of [tokens?.device, tokens?.monitor, tokens?.previous?.device ?? tokens?.device])
					assert.match(token ?? "", /^[!-+\--~]{16,512}$/);
			} catch (error) {
				assert.ok(error instanceof StartError, String(error));
				assert.match(error.message, /Delete it to generate new ones/);
			}
		}),
		{ numRuns: runs(200) },
	);
});
