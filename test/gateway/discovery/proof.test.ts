import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { deviceTokenOf, includesSecret } from "../../../gateway/access/secrets.js";
import { proofFor } from "../../../gateway/discovery/proof.js";

const address = "ws://192.168.1.10:8080/device";
const secrets = ["current-token-of-devices", "previous-token-of-devices"];
const [current = "", previous = ""] = secrets;
const own = deviceTokenOf(current, "dev-1-a1b2c3");

function half(token: string, text: string): string {
	return createHmac("sha256", token).update(text).digest("hex").slice(0, 32);
}

/** Query of a device with this token. */
function questionWith(token: string, deviceId = "dev-1-a1b2c3", nonce = "1a2b3c"): string {
	const proof = half(token, `gateway question ${nonce} ${deviceId}`);
	return `${nonce}.${deviceId}.${proof}._sub._device-gateway._tcp.local`;
}

test("answers devices with the current, previous or own token", () => {
	for (const token of [current, previous, own, deviceTokenOf(previous, "dev-1-a1b2c3")])
		assert.equal(
			proofFor(questionWith(token), address, secrets),
			half(token, `gateway answer 1a2b3c dev-1-a1b2c3 ${address}`),
		);
});

test("ignores devices with a wrong token, a partial proof or none", () => {
	const right = questionWith(own);
	const [nonce, deviceId, proof = ""] = right.split(".");
	const others = [
		questionWith("another-token-of-devices"),
		questionWith(own, "dev-1-ffffff"),
		questionWith(""),
		right.replace("1a2b3c", "1a2b3d"),
		right.replace("a1b2c3", "a1b2c4"),
		right.replace("_sub.", ""),
		right.replace("_device-gateway", "_http"),
		`${right}.more`,
		`${nonce}.${deviceId}.${proof.slice(0, 31)}._sub._device-gateway._tcp.local`,
		`${nonce}.${deviceId}.._sub._device-gateway._tcp.local`,
		"_device-gateway._tcp.local",
		"",
	];
	for (const other of others) assert.equal(proofFor(other, address, secrets), undefined, other);
	assert.equal(proofFor(right, address, []), undefined);
});

test("never reveals the secret of a device's own token in a proof", () => {
	const proof = proofFor(questionWith(current), address, secrets) ?? "";
	const signatures = ["dev-1-a1b2c3", ` 1a2b3c dev-1-a1b2c3 ${address}`].map((id) =>
		Buffer.from(deviceTokenOf(current, id).slice(id.length + 1), "base64url")
			.toString("hex")
			.slice(0, 32),
	);
	assert.equal(proof.length, 32);
	assert.equal(includesSecret(signatures, proof), false);
});
