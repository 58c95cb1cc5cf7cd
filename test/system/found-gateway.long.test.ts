/** Discovery in separate network namespaces, because multicast DNS must not leave the test computer. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { pathOf, whyMissing } from "../support/programs.js";

/** Two networks, each a virtual cable with both ends on this computer. */
const networks = `set -e
ip link set lo up
for n in 1 2; do
	ip link add a$n type veth peer name b$n
	ip addr add 10.99.$n.1/24 dev a$n
	ip link set a$n up
	ip link set b$n up
done
ip addr add 10.0.0.1/8 dev a1
ip route add default dev a1
`;

function inNetworks(command: string) {
	const { NODE_TEST_CONTEXT: _, ...env } = process.env;
	return spawnSync(pathOf("unshare"), ["-rn", "sh", "-c", `${networks}${command}`], {
		env,
		encoding: "utf8",
	});
}

test("a device discovers the gateway that knows its token, and no other", {
	skip:
		whyMissing("unshare") ||
		(inNetworks("").status === 0 ? false : "users of this computer cannot create networks (unshare -rn, ip)"),
}, () => {
	const { status, stdout, stderr } = inNetworks(
		`exec "${process.execPath}" --import tsx --test --test-reporter=tap test/system/found-gateway.ts`,
	);
	assert.equal(status, 0, `${stdout}${stderr}`);
	assert.match(stdout, /# pass [3-9]/);
});
