import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesFor } from "../../../gateway/discovery/responder.js";

const own = (...cidrs: readonly string[]) =>
	cidrs.map((cidr) => ({ address: cidr.replace(/\/.*/, ""), cidr }));

test("returns the addresses in the smallest network of a device", () => {
	const networks = own("10.0.0.1/8", "10.1.2.2/24", "10.1.2.3/24", "10.1.0.1/16");
	for (const [client, ...expected] of [
		["10.1.2.7", "10.1.2.2", "10.1.2.3"],
		["10.1.3.7", "10.1.0.1"],
		["10.2.2.7", "10.0.0.1"],
		["192.168.1.7"],
	] as const)
		assert.deepEqual(addressesFor(client, networks), expected, client);
	assert.deepEqual(addressesFor("10.1.2.7", own("0.0.0.1/0", "10.1.2.7/32")), ["10.1.2.7"]);
	assert.deepEqual(addressesFor("10.1.2.7", []), []);
});
