import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { fetchSound, isPublic } from "../../../gateway/announcements/fetch-sound.js";
import { RequestError } from "../../../gateway/problem.js";
import { listen } from "../../support/ports.js";

const { signal } = new AbortController();

async function serve(t: TestContext, listener: RequestListener) {
	const paths: (string | undefined)[] = [];
	const port = await listen(
		t,
		createServer((request, response) => {
			paths.push(request.url);
			listener(request, response);
		}),
	);
	return { port, paths, url: `http://127.0.0.1:${port}` };
}

test("private, local and reserved addresses are not public", () => {
	for (const address of [
		...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.0.1", "192.168.1.1"],
		...["224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "fd00::1"],
		...["fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2002:7f00:1::", "::7f00:1", "4000::1"],
		...[
			"192.0.0.1",
			"192.88.99.1",
			"198.18.0.1",
			"203.0.113.1",
			"240.0.0.1",
			"2001:2::1",
			"2001:db8::1",
			"3fff::1",
		],
	])
		assert.equal(isPublic(address), false, address);
	for (const address of ["9.9.9.9", "172.32.0.1", "192.169.0.1", "2620:fe::fe"])
		assert.equal(isPublic(address), true, address);
});

describe("request for a sound", () => {
	test("is sent to no other than a public address, in any spelling", async (t) => {
		const { port, paths } = await serve(t, (_request, response) => response.end());
		for (const host of ["127.0.0.1", "localhost", "0", "2130706433", "0x7f.1", "[::1]", "[::ffff:7f00:1]"])
			await assert.rejects(
				fetchSound(`http://${host}:${port}/a.mp3`, { signal, isAllowed: isPublic }),
				/Connections to [0-9a-f.:]+ are not allowed/,
				host,
			);
		assert.deepEqual(paths, []);
	});

	test("follows redirects to allowed addresses only, and a limited number of them", async (t) => {
		const { port, paths, url } = await serve(t, ({ url: path }, response) => {
			const targets: Readonly<Record<string, string>> = {
				"/moved": "/sound",
				"/private": `http://127.0.0.2:${port}/sound`,
				"/name": `http://localhost:${port}/sound`,
				"/endless": "/endless",
				"/file": "file:///etc/passwd",
			};
			const location = targets[path ?? ""];
			if (location === undefined) response.end("sound");
			else response.writeHead(302, { location }).end();
		});
		const get = (path: string, allowed = "127.0.0.1") =>
			fetchSound(`${url}${path}`, { signal, isAllowed: (address) => address === allowed });
		assert.equal(await text(await get("/moved")), "sound");
		await assert.rejects(get("/private"), /Connections to 127\.0\.0\.2 are not allowed/);
		await assert.rejects(get("/file"));
		await assert.rejects(get("/endless"), RequestError);
		paths.length = 0;
		const isFirst = (address: string) => address === "127.0.0.1" && paths.length === 0;
		await assert.rejects(fetchSound(`${url}/name`, { signal, isAllowed: isFirst }), /not allowed/);
		assert.deepEqual(paths, ["/name"]);
	});
});
