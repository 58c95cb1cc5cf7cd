import assert from "node:assert/strict";
import { test } from "node:test";
import { compareVersions, isNewer, isSameVersion } from "../../../gateway/api/channels.js";

test("compares versions of other vendors by precedence", () => {
	for (const same of ["1.10.0", "v1.10.0", "V1.10", "1.10", "1.10.0+7", "fw-1.10.0", " 1.10.0 ", "1.10.0.3"])
		assert.equal(isSameVersion(same, "1.10.0"), true, same);
	for (const newer of ["2.0", "v2", "1.10.1", "1.11", "2.0.0-rc.1"])
		assert.deepEqual([isNewer(newer, "1.10.0"), isNewer("1.10.0", newer)], [true, false], newer);
	for (const older of ["1.9", "v1.10.0-rc.1", "1.10-beta", "0.9+99"])
		assert.deepEqual([isNewer(older, "1.10.0"), isNewer("1.10.0", older)], [false, true], older);
});

test("does not order invalid versions, or two builds of one version", () => {
	for (const unknown of ["nightly", "", null, "3f2a9c1", "2024-05-17", "1.10.0+8"])
		assert.equal(compareVersions(unknown, "1.10.0+7"), undefined, String(unknown));
	assert.equal(compareVersions("nightly", "nightly"), 0);
});
