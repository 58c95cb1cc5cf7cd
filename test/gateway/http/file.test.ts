import assert from "node:assert/strict";
import { ServerResponse } from "node:http";
import { test } from "node:test";
import { sendFile } from "../../../gateway/http/file.js";
import { incomingRequest } from "../../support/incoming-request.js";

test("sends a range only of the version that If-Range names", () => {
	const lastModified = "Fri, 20 Nov 2026 12:00:00 GMT";
	const content = { bytes: Buffer.from("image"), sha256: "5a", digestOf: () => undefined };
	const file = { content, filename: "firmware.bin", lastModified, caching: "no-cache" };
	const statusFor = (ifRange: string) => {
		const request = incomingRequest("10.0.0.2", { range: "bytes=1-2", "if-range": ifRange });
		const response = new ServerResponse(request);
		sendFile(request, response, file);
		return response.statusCode;
	};
	const fields = ['"5a"', lastModified, '"5b"', 'W/"5a"', "Fri, 20 Nov 2026 12:00:01 GMT"];
	assert.deepEqual(fields.map(statusFor), [206, 206, 200, 200, 200]);
});
