import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGatewayUrl } from "../../../device/network/gateway-url.js";

test("rejects any other address with a message that describes the expected form", () => {
	for (const url of [
		"",
		"gateway.local",
		"http://a",
		"ws://",
		"ws:///device",
		"ws://a b",
		"ws://a:x",
		"ws://a:1:2",
	])
		assert.throws(() => parseGatewayUrl(url), /gateway must be ws:\/\/host:port\/device or wss:/, url);
	for (const url of ["ws://a:0", "ws://a:65536", "ws://a:99999"])
		assert.throws(() => parseGatewayUrl(url), /port must be from 1 to 65535/, url);
});
