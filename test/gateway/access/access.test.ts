import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import type { PersonRole } from "../../../gateway/api/person.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { failingDisk } from "../../support/disk.js";
import { nextEvent } from "../../support/eventually.js";
import { cookieOf, logIn, loginOf, nameTokens, postToken, press } from "../../support/logins.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunningGateway,
	type RunOptions,
	reportWithVolume,
	runGateway,
	runWithDevice,
	temporaryDirectory,
	upgradeRequest,
} from "../../support/running.js";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** All data received on a connection that sends these bytes, up to the first response. */
async function answerTo(url: string, request: string): Promise<string> {
	const socket = connect(Number(new URL(url).port), "127.0.0.1");
	socket.write(request, "latin1");
	const [answer] = await nextEvent(socket, "data");
	socket.destroy();
	return String(answer);
}

type Headers = Readonly<Record<string, string>>;

async function isLoggedIn({ url }: RunningGateway, headers: Headers): Promise<boolean> {
	return (await loginOf(url, headers)).status === 200;
}

/** Uses a login link. */
async function follow(link: string) {
	const response = await fetch(link, press);
	return { status: response.status, cookie: cookieOf(response), text: await response.text() };
}

function logOut(url: string, headers: Headers = {}) {
	return fetch(`${url}/logout`, { ...press, headers: { ...headers } });
}

test("a login link shows a button that logs in once, with an HttpOnly and SameSite cookie", async (t) => {
	const gateway = await runGateway(t);
	// Link preview.
	for (const method of ["HEAD", "GET"]) {
		const shown = await fetch(gateway.loginUrl, { method });
		assert.deepEqual([shown.status, shown.headers.getSetCookie()], [200, []]);
		const html = await shown.text();
		if (method === "GET") assert.match(html, /This link logs you in once\..*<form method="post"><button/s);
		assert.doesNotMatch(html, /name="token"/);
	}
	const foreign = await fetch(gateway.loginUrl, { ...press, headers: { origin: "http://evil.example" } });
	assert.equal(foreign.status, 403);
	const first = await fetch(gateway.loginUrl, press);
	assert.deepEqual([first.status, first.headers.get("location")], [303, "./"]);
	assert.match(first.headers.getSetCookie()[0] ?? "", /; Path=\/; .*HttpOnly; SameSite=Strict$/);
	assert.equal(await isLoggedIn(gateway, { cookie: cookieOf(first) }), true);
	const { status, cookie, text } = await follow(gateway.loginUrl);
	assert.deepEqual([status, cookie], [401, ""]);
	assert.match(text, /This link has expired/);
});

test("expires links and logins created while the clock was a year ahead", async (t) => {
	let now = 365 * day;
	const first = await runGateway(t, { now: () => now });
	const second = await runGateway(t, { now: () => now });
	const { cookie } = await follow(first.loginUrl);
	assert.equal(await isLoggedIn(second, { cookie }), true);
	const { search } = new URL(second.loginUrl);
	now = 0;
	assert.equal(await isLoggedIn(second, { cookie }), false);
	assert.equal((await follow(`${first.url}/login${search}`)).status, 401);
});

test("applies a token only to its own request, not to later ones on the connection", async (t) => {
	const { url } = await runGateway(t);
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	t.after(() => agent.destroy());
	const answers: string[] = [];
	const known = bearer(deviceToken);
	for (const headers of [known, bearer("wrong"), {}, bearer(monitorToken), known]) {
		const asked = request(`${url}/ota/firmware.bin`, { agent, headers }).end();
		const [response] = await nextEvent(asked, "response");
		answers.push(`${response.statusCode} ${asked.reusedSocket}`);
		await nextEvent(response.resume(), "end");
	}
	assert.deepEqual(answers, ["404 false", "401 true", "401 true", "404 true", "404 true"]);
});

describe("token login", () => {
	test("accepts only the monitor token", async (t) => {
		const gateway = await runGateway(t);
		const right = await logIn(gateway.url, `\ufeff ${monitorToken}\u200b\r\n`);
		assert.equal(await isLoggedIn(gateway, right), true);
		for (const token of [deviceToken, "", monitorToken.slice(1), `${monitorToken}x`]) {
			const wrong = await postToken(gateway.url, token);
			assert.equal(wrong.status, 401);
			assert.match(await wrong.text(), /Invalid access token/);
		}
	});
	test("throttles invalid tokens and links after ten in a minute, and accepts valid ones", async (t) => {
		const gateway = await runGateway(t);
		const login = await logIn(gateway.url, monitorToken);
		for (const attempt of [
			() => postToken(gateway.url, "wrong"),
			() => fetch(`${gateway.url}/login?code=wrong`, press),
		]) {
			let blocked = await attempt();
			for (let count = 0; count < 10; count += 1) blocked = await attempt();
			assert.equal(blocked.status, 429);
			assert.match(blocked.headers.get("retry-after") ?? "", /^\d+$/);
			assert.match(await blocked.text(), /Too many wrong tokens from this address\. Try again in \d+ s/);
		}
		for (let i = 0; i < 10; i += 1) await gateway.rejected("/device", bearer("wrong"));
		assert.equal((await gateway.rejected("/device", bearer("wrong"))).status, 429);
		assert.equal((await postToken(gateway.url, monitorToken)).status, 303);
		assert.equal((await follow(gateway.loginUrl)).status, 303);
		assert.equal(await isLoggedIn(gateway, login), true);
		await gateway.monitor();
		await gateway.device();
	});
});

test("ends a login with all copies of its cookie on logout, across a restart, after 30 days, and with its token", async (t) => {
	let now = Date.now();
	const gateway = await runGateway(t, { now: () => now });
	const login = await logIn(gateway.url, monitorToken);
	now += 1;
	const other = await logIn(gateway.url, monitorToken);
	const out = await logOut(gateway.url, login);
	assert.deepEqual([out.status, cookieOf(out)], [303, `${login.cookie.split("=")[0]}=`]);
	const states = async (at: RunningGateway) => [await isLoggedIn(at, login), await isLoggedIn(at, other)];
	assert.deepEqual(await states(gateway), [false, true]);
	const forged = { cookie: other.cookie.replace(/=\d/, "=9") };
	assert.equal(await isLoggedIn(gateway, forged), false, "a forged time");
	await gateway.gateway.close();
	const later = await runGateway(t, { dataDir: gateway.dataDir, now: () => now });
	assert.deepEqual(await states(later), [false, true]);
	const others = await runGateway(t, { monitorToken: "another-monitor-token" });
	assert.deepEqual(await states(others), [false, false]);
	now += 30 * day;
	assert.deepEqual(await states(later), [false, false]);
});

describe("socket of a monitor", () => {
	const monitorOf = async (gateway: RunningGateway, headers: Headers) => {
		const monitor = await gateway.open("/monitor", { headers: { ...headers } });
		assert.equal((await monitor.next()).reason, "snapshot");
		return monitor;
	};

	test("is closed on logout in another tab; sockets of other logins stay open", async (t) => {
		const gateway = await runGateway(t);
		const login = await logIn(gateway.url, monitorToken);
		const first = await monitorOf(gateway, login);
		const second = await monitorOf(gateway, login);
		const stays = await monitorOf(gateway, { cookie: (await follow(gateway.loginUrl)).cookie });
		await logOut(gateway.url, login);
		const ended = { code: 1008, reason: "login ended" };
		assert.deepEqual([await first.closed, await second.closed], [ended, ended]);
		stays.send({ type: "boot_device", targetId: "dev-1-a1b2c3" });
		assert.equal((await stays.next()).code, "unknown_target");
	});

	test("has the permissions of its person's present role, and none once the token was removed", async (t) => {
		const gateway = await runGateway(t);
		const token = "a-token-of-a-removed-administrator";
		const store = (...roles: readonly PersonRole[]) =>
			nameTokens(gateway.dataDir, ...roles.map((role) => ({ name: "anna", role, token })));
		await store("monitor");
		const program = await monitorOf(gateway, bearer(token));
		const page = await monitorOf(gateway, await logIn(gateway.url, token));
		const codesOf = async (message: object) => [
			(await program.request(message)).code,
			(await page.request(message)).code,
		];
		const boot = { type: "boot_device", targetId: "dev-1-a1b2c3" };
		const volume = { type: "control_device", targetId: boot.targetId, payload: { command: "set_volume" } };
		assert.deepEqual(await codesOf(boot), ["unknown_target", "unknown_target"]);
		await store("user");
		assert.deepEqual(await codesOf(boot), ["forbidden", "forbidden"]);
		assert.deepEqual(await codesOf(volume), ["unknown_target", "unknown_target"]);
		await store("viewer");
		assert.deepEqual(await codesOf(volume), ["forbidden", "forbidden"]);
		await store();
		for (const socket of [program, page]) {
			socket.send({ type: "subscribe", summary: true });
			assert.equal((await socket.closed).code, 1008);
		}
	});

	test("is closed when its token is removed or its login expires", async (t) => {
		let now = Date.now();
		const gateway = await runGateway(t, { now: () => now, limits: { pingIntervalMs: 50 } });
		const token = "a-token-of-a-screen-in-the-lobby";
		await nameTokens(gateway.dataDir, { name: "screen", role: "viewer", token });
		const screen = await monitorOf(gateway, bearer(token));
		const page = await monitorOf(gateway, await logIn(gateway.url, monitorToken));
		await nameTokens(gateway.dataDir);
		assert.equal((await screen.closed).code, 1008);
		now += 31 * day;
		assert.equal((await page.closed).code, 1008);
	});
});

test("fails a logout that cannot be written to disk", async (t) => {
	const gateway = await runGateway(t, { disk: failingDisk("rename", "ENOSPC", "ended-logins").disk });
	assert.equal((await logOut(gateway.url, await logIn(gateway.url, monitorToken))).status, 507);
});

test("invalidates the cookies of both tokens on logout during a rotation", async (t) => {
	const gateway = await runGateway(t, { monitorToken: `another-monitor-token,${monitorToken}` });
	const out = await logOut(gateway.url);
	const names = out.headers.getSetCookie().map((cookie) => cookie.split("=")[0]);
	assert.equal(new Set(names).size, 2);
});

test("sets and removes the cookie on the path of PUBLIC_URL, and creates links there, if the browser used it", async (t) => {
	const gateway = await runGateway(t, { publicUrl: new URL(`http://localhost/gw/`) });
	const headers = { host: "localhost", origin: "http://localhost" };
	for (const path of ["/login", "/logout"]) {
		const { set } = await posted(gateway.url, path, headers, `token=${monitorToken}`);
		assert.match(set, /; Path=\/gw(;|$)/);
	}
	const { set } = await posted(gateway.url, "/login", {}, `token=${monitorToken}`);
	assert.match(set, /; Path=\/;/);
	const from = { host: "localhost", ...bearer(monitorToken) };
	const { text: link } = await posted(gateway.url, "/login/link", from);
	assert.ok(JSON.parse(link).url.startsWith("http://localhost/gw/login?code="), link);
});

test("detects same-origin requests by scheme, host and port, or Sec-Fetch-Site", async (t) => {
	const gateway = await runGateway(t);
	const secure = gateway.url.replace("http:", "https:");
	for (const [headers, status] of [
		[{ origin: gateway.url }, 303],
		[{ origin: secure }, 403],
		[{ origin: "http://evil.example" }, 403],
		[{ origin: "null" }, 403],
		[{ "sec-fetch-site": "cross-site" }, 403],
		[{ "sec-fetch-site": "same-site" }, 403],
		[{ "sec-fetch-site": "same-origin" }, 303],
		[{}, 303],
	] as const)
		assert.equal((await posted(gateway.url, "/logout", headers)).status, status, JSON.stringify(headers));
});

test("rejects identical device and monitor tokens at the start", async (t) => {
	const rejects = (options: RunOptions) =>
		assert.rejects(runGateway(t, options), /^StartError: DEVICE_TOKEN and MONITOR_TOKEN must differ/);
	const dataDir = await temporaryDirectory(t);
	await writeTokenFile(disk, tokenPath(dataDir), { device: deviceToken, monitor: deviceToken });
	await rejects({ dataDir, deviceToken: undefined, monitorToken: undefined });
	const previous = "the-previous-monitor-token";
	for (const token of [monitorToken, `${deviceToken},${monitorToken}`, previous])
		await rejects({ deviceToken: token, monitorToken: `${monitorToken},${previous}` });
});

/** Sends a request with node:http, because fetch cannot set `Host`. */
async function posted(url: string, path: string, headers: Readonly<Record<string, string>>, body = "") {
	const form = { "Content-Type": "application/x-www-form-urlencoded" };
	const [response] = await nextEvent(
		request(url + path, { method: "POST", headers: { ...form, ...headers } }).end(body),
		"response",
	);
	return {
		status: response.statusCode,
		set: String(response.headers["set-cookie"]),
		text: await text(response),
	};
}

test("accepts the cookie at /monitor only from the gateway's own page or that of PUBLIC_URL", async (t) => {
	const gateway = await runGateway(t, { publicUrl: new URL("https://gateway.example/") });
	const cookie = `other=1; ${(await logIn(gateway.url, monitorToken)).cookie}`;
	for (const origin of ["http://evil.example", "null", gateway.url.replace("127.0.0.1", "localhost")])
		assert.equal((await gateway.rejected("/monitor", { cookie, origin })).status, 403);
	for (const origin of [gateway.url, "https://gateway.example"])
		await gateway.open("/monitor", { headers: { cookie }, origin });
	const { status, headers } = await gateway.rejected("/monitor", { Cookie: "gateway=1.2" });
	assert.equal(status, 401);
	assert.match(String(headers["www-authenticate"]), /^Bearer/);
});

test("accepts any Origin with a bearer token, and ignores a cookie sent with it", async (t) => {
	const gateway = await runGateway(t);
	// Origin of a Python client behind a TLS proxy.
	const origin = `${gateway.url.replace("http:", "https:")}`;
	const { cookie } = await follow(gateway.loginUrl);
	const requestLink = (headers: Headers) =>
		fetch(`${gateway.url}/login/link`, { method: "POST", headers: { ...headers } });
	await gateway.open("/monitor", { headers: { ...bearer(monitorToken), origin } });
	await gateway.open("/device", { headers: { ...bearer(deviceToken), origin } });
	assert.equal((await requestLink({ ...bearer(monitorToken), origin })).status, 201);
	for (const token of ["wrong", deviceToken]) {
		const { status } = await gateway.rejected("/monitor", { ...bearer(token), cookie, origin });
		assert.equal(status, 401);
		assert.equal((await requestLink({ ...bearer(token), cookie, origin })).status, 401);
	}
});

describe("link for another device", () => {
	const ben = { name: "ben", role: "user", token: "a-users-token-of-the-fixtures" } as const;

	async function run(t: TestContext, options: RunOptions = {}) {
		const gateway = await runGateway(t, options);
		await nameTokens(gateway.dataDir, ben);
		return gateway;
	}

	test("logs in once, with the name and role of its creator, within ten minutes", async (t) => {
		let now = Date.now();
		const gateway = await run(t, { now: () => now, monotonic: () => now });
		for (const [token, person] of [
			[ben.token, { name: "ben", role: "user" }],
			[monitorToken, { name: "monitor", role: "monitor" }],
		] as const)
			for (const minutes of [9, 10]) {
				const { status, body } = await gateway.api("POST", "/login/link", undefined, token);
				assert.equal(status, 201);
				assert.ok(body.url.startsWith(`${gateway.url}/login?code=`), body.url);
				assert.equal(Date.parse(body.expiresAt) - now, 10 * minute);
				now += minutes * minute;
				const { cookie } = await follow(body.url);
				assert.deepEqual((await loginOf(gateway.url, { cookie })).person, minutes < 10 ? person : undefined);
				assert.equal((await follow(body.url)).status, 401);
			}
	});

	test("invites a person under the name as typed, once within a day; a renewed link works again", async (t) => {
		let now = Date.now();
		const gateway = await run(t, { now: () => now, monotonic: () => now });
		const post = async (path: string, body?: object, token?: string) => {
			const answer = await gateway.api("POST", path, body, token);
			return { status: answer.status, ...answer.body };
		};
		const name = "Anna-Lena Groß";
		assert.equal((await post("/api/tokens", { name: ` ${name} `, role: "viewer" })).name, name);
		assert.equal((await post("/api/tokens", { name: name.toLowerCase(), role: "user" })).status, 409);
		for (const wrong of ["", "..", "a/b", "a\\b", "a\nb"])
			assert.equal((await post("/api/tokens", { name: wrong, role: "user" })).status, 422, wrong);
		const path = `/api/tokens/${encodeURIComponent(name)}/link`;
		const [first, second, renewed] = [await post(path), await post(path), await post(path)];
		assert.equal(Date.parse(first.expiresAt) - now, day);
		now += 23 * hour;
		const { cookie } = await follow(first.url);
		assert.deepEqual((await loginOf(gateway.url, { cookie })).person, { name, role: "viewer" });
		const again = await follow(first.url);
		assert.equal(again.status, 401);
		assert.match(again.text, /This link has expired\. Ask for a new one\./);
		assert.equal((await follow(renewed.url)).status, 303);
		now += hour;
		assert.equal((await follow(second.url)).status, 401, "after a day");
	});

	test("expires with its creator's token, even if another person gets the name", async (t) => {
		const gateway = await run(t);
		const { body } = await gateway.api("POST", "/login/link", undefined, ben.token);
		await nameTokens(gateway.dataDir, { ...ben, token: "another-token-of-the-same-name" });
		assert.equal((await follow(body.url)).status, 401);
	});
});

test("accepts with AUTH=off only local clients and no web sites, even those that resolve to the gateway's address", async (t) => {
	const gateway = await runGateway(t, { auth: false });
	await gateway.open("/device");
	await gateway.open("/monitor", { origin: gateway.url });
	assert.equal((await gateway.api("POST", "/login/link")).status, 409);
	const { port } = new URL(gateway.url);
	for (const path of ["/device", "/monitor"]) {
		const foreign = { origin: "http://evil.example", ...bearer(monitorToken) };
		assert.equal((await gateway.rejected(path, foreign)).status, 403);
		const rebound = { origin: `http://evil.example:${port}`, host: `evil.example:${port}` };
		assert.equal((await gateway.rejected(path, rebound)).status, 403);
	}
	await assert.rejects(runGateway(t, { auth: false, host: "0.0.0.0" }), /AUTH=off requires a loopback HOST/);
});

describe("other requests", () => {
	test("forbid scripts, frames and styles of other origins, and other content types, in every response", async (t) => {
		const { url } = await runGateway(t);
		for (const path of ["/", "/login", "/icon.svg", "/nowhere"]) {
			const { headers } = await fetch(`${url}${path}`);
			const policy = headers.get("content-security-policy") ?? "";
			assert.match(
				policy,
				/default-src 'none';script-src 'self'( 'sha256-[\w+/]{43}=')*;style-src 'self'( 'sha256-[\w+/]{43}=')?;/,
			);
			assert.match(policy, /frame-ancestors 'none'/);
			assert.equal(headers.get("referrer-policy"), "same-origin");
			assert.equal(headers.get("x-powered-by"), null);
		}
		for (const path of ["/ota/firmware.bin", "/releases/x.bin", "/metrics", "/nowhere"])
			assert.equal((await fetch(`${url}${path}`)).headers.get("x-content-type-options"), "nosniff", path);
	});

	test("sends headers that browsers accept of trusted origins only to those", async (t) => {
		const { url } = await runGateway(t, { trustProxy: () => true });
		for (const [headers, isSent] of [
			[{}, true],
			[{ Host: "localhost:8080" }, true],
			[{ Host: "192.0.2.1:8080" }, false],
			[{ Host: "gateway.example", "X-Forwarded-Proto": "https" }, true],
			[{ Host: "gateway.example", "X-Forwarded-Proto": "http" }, false],
		] as const) {
			const [response] = await nextEvent(request(url, { headers }).end(), "response");
			response.destroy();
			for (const name of ["cross-origin-opener-policy", "origin-agent-cluster"])
				assert.equal(name in response.headers, isSent, `${name} for ${JSON.stringify(headers)}`);
		}
	});

	test("tells a client with the token as password of its URL how to send it", async (t) => {
		const { url, rejected } = await runGateway(t);
		const Authorization = `Basic ${Buffer.from(`x:${monitorToken}`).toString("base64")}`;
		const api = await fetch(`${url}/api/tokens`, { headers: { Authorization } });
		const monitor = await rejected("/monitor", { Authorization });
		assert.deepEqual([api.status, monitor.status], [401, 401]);
		for (const body of [await api.text(), monitor.body])
			assert.match(JSON.parse(body).detail, /password of the URL/);
	});

	test("accepts an upgrade with an absolute target, rejects other paths with 404, and survives malformed requests", async (t) => {
		const { url, rejected } = await runGateway(t);
		for (const path of ["/", "/devices", "/device/", "//device", "/monitor/x"])
			assert.equal((await rejected(path, bearer(deviceToken))).status, 404, path);
		const upgrade = upgradeRequest("/device", deviceToken);
		const key = /Sec-WebSocket-Key.+\r\n/;
		for (const request of [
			"\0\x01\x02 garbage\r\n\r\n",
			upgrade.replace("Host: x\r\n", ""),
			upgrade.replace(key, ""),
			upgrade.replace(key, "Sec-WebSocket-Key: x\r\n").replace("Host: x", "Host: ["),
			upgrade.replace("/device", "//["),
			upgrade.replace("GET", "POST"),
		])
			assert.match(await answerTo(url, request), /^HTTP\/1\.1 4\d\d /, request);
		for (const target of ["http://gateway.example/device", "x:///device?"])
			assert.match(await answerTo(url, upgrade.replace("/device", target)), /^HTTP\/1\.1 101 /);
	});

	test("disconnects a client that sends no request", async (t) => {
		const gateway = await runGateway(t, { limits: { requestHeadersMs: 50 } });
		for (const start of ["", "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "]) {
			const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
			socket.write(start);
			socket.resume();
			await nextEvent(socket, "close");
		}
	});
});

test("never logs a token", async (t) => {
	const stream = new PassThrough({ encoding: "utf8" });
	let log = "";
	stream.on("data", (chunk) => {
		log += chunk;
	});
	const { gateway, monitor, device } = await runWithDevice(t, { log: createLog("trace", stream) });
	for (const _ of [1, 2]) await follow(gateway.loginUrl);
	for (const token of [monitorToken, "another-persons-token"]) await postToken(gateway.url, token);
	await gateway.rejected("/device", bearer("another-persons-token"));
	device.send({ type: "nonsense", token: deviceToken });
	device.socket.close();
	await monitor.change("disconnected");

	const own = deviceTokenOf(deviceToken, "dev-1-000002");
	const signature = own.slice("dev-1-000002.".length);
	const owner = await gateway.device(bearer(own));
	owner.send({ type: "nonsense", token: own });
	owner.send(reportWithVolume(5, "dev-1-000003"));
	await owner.closed;
	for (const [headers, status] of [
		[{ ...bearer(own), "Device-Id": "dev-1-000003" }, 403],
		[{ ...bearer(own), "Device-Id": own.repeat(2) }, 400],
		[{ ...bearer(own), "Device-Model": own }, 400],
		[bearer(`dev-1-000003.${signature}`), 401],
		[bearer(`${own}x`), 401],
	] as const)
		assert.equal((await gateway.rejected("/device", headers)).status, status);
	await gateway.rejected("/monitor", bearer(own));
	await gateway.rejected(`/device/?token=${own}`);
	await fetch(`${gateway.url}/ota/upload`, { method: "POST", headers: bearer(own) });
	await fetch(`${gateway.url}/releases/nothing.bin`, { headers: bearer(own) });

	await gateway.gateway.close();
	for (const event of ["device: disconnected", "uplink dropped", "upgrade rejected", "wrong token"])
		assert.ok(log.includes(event), event);
	const code = new URL(gateway.loginUrl).searchParams.get("code") ?? "";
	for (const secret of [deviceToken, monitorToken, code, "another-persons-token", signature])
		assert.ok(!log.includes(secret), log);
});
