import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { signatureOf } from "../../../gateway/fleet/crash-signature.js";
import "../../support/property-runs.js";

const word = fc.constantFrom("TypeError:", "cannot", "read", "volume", "of", "Sound", "at", "face");
const hex = (length: number) =>
	fc.array(fc.integer({ min: 0, max: 15 }), { minLength: length, maxLength: length }).map((digits) => {
		return digits.map((digit) => digit.toString(16)).join("");
	});
const mac = fc.array(hex(2), { minLength: 6, maxLength: 6 }).map((bytes) => bytes.join(":"));
const changing = fc.oneof(
	fc.integer().map(String),
	fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
	hex(8).map((digits) => `0x${digits}`),
	hex(8),
	hex(6).map((digits) => `${digits}7`),
	hex(32),
	fc.uuid(),
	fc.ipV4(),
	mac,
);
const frame = fc.record({
	name: fc.constantFrom("onButton", "play", "#write", "Sound.stop", undefined),
	path: fc.constantFrom("device/rules.ts", "device/sound/player.ts", "hosts/esp32/host.ts"),
});
const stack = fc.array(frame, { minLength: 1, maxLength: 5 });
const line = fc.integer({ min: 1, max: 9999 });

type Frames = readonly { readonly name: string | undefined; readonly path: string }[];
/** @param lines source line of each frame */
function stackOf(frames: Frames, lines: readonly number[]): string {
	return frames
		.map(({ name, path }, index) => {
			const place = `${path}:${lines[index]}`;
			return name === undefined ? `at ${place}` : `at ${name} (${place})`;
		})
		.join("\n");
}
const lines = fc.array(line, { minLength: 5, maxLength: 5 });
const crash = { kind: "exception", message: "TypeError: no volume", file: "device/rules.ts" } as const;
const idOf = (frames: Frames, at: readonly number[]) =>
	signatureOf({ ...crash, stack: stackOf(frames, at) }).id;

test("ignores numbers, addresses and hexadecimal text of the message", () => {
	const gaps = fc.array(fc.tuple(word, changing, changing), { minLength: 1, maxLength: 6 });
	fc.assert(
		fc.property(gaps, stack, lines, (parts, frames, at) => {
			const [first, second] = [1, 2].map((which) =>
				signatureOf({
					...crash,
					message: parts.map((part) => `${part[0]} ${part[which]}`).join(" "),
					stack: stackOf(frames, at),
				}),
			);
			assert.deepEqual(first, second);
		}),
	);
});

test("ignores source lines, frames below the third and foreign frames", () => {
	fc.assert(
		fc.property(stack, lines, lines, (frames, at, later) => {
			const id = idOf(frames, at);
			assert.equal(idOf(frames, later), id);
			assert.equal(idOf([...frames.slice(0, 3), ...(frames.length >= 3 ? frames : [])], later), id);
			const foreign = `at get (websocket.js:31)\n0x4200abcd 0x42001234\n${stackOf(frames, at)}`;
			assert.equal(signatureOf({ ...crash, stack: foreign }).id, id);
		}),
	);
});

test("differs by frames, type and message", () => {
	fc.assert(
		fc.property(stack, stack, lines, (frames, others, at) => {
			const top = (all: Frames) => JSON.stringify(all.slice(0, 3).map(({ name, path }) => [name, path]));
			assert.equal(idOf(frames, at) === idOf(others, at), top(frames) === top(others));
		}),
	);
	const { id } = signatureOf({ ...crash, stack: "" });
	assert.notEqual(signatureOf({ ...crash, stack: "", kind: "rejection" }).id, id);
	assert.notEqual(signatureOf({ ...crash, stack: "", message: "TypeError: no light" }).id, id);
});

test("names frames of this project, or else the file", () => {
	const stack = "at onButton (device/rules.ts:31)\nat device/main.ts:7";
	const { frames } = signatureOf({ ...crash, stack });
	assert.deepEqual(frames, ["onButton (device/rules.ts)", "device/main.ts"]);
	const without = signatureOf({ ...crash, stack: "0x4200abcd 0x42001234" });
	assert.deepEqual(without.frames, ["device/rules.ts"]);
});
