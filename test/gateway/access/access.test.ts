import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { generateTokens, tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import type { PersonRole } from "../../../gateway/api/person.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { nextEvent } from "../../support/eventually.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunningGateway,
	type RunOptions,
	reportWithVolume,
	runGateway,
	temporaryDirectory,
	upgradeRequest,
} from "../../support/running.js";
import { examplePath } from "../api/probes.js";
import { routesOf } from "../api/server.js";

/** First data received on a connection that sends these bytes. */
async function answerTo(url: string, request: string): Promise<string> {
	const socket = connect(Number(new URL(url).port), "127.0.0.1");
	socket.write(request, "latin1");
	const [answer] = await nextEvent(socket, "data");
	socket.destroy();
	return String(answer);
}

const manual = { redirect: "manual" } as const;
/** Request of the button on a login link's page. */
const press = { ...manual, method: "POST" } as const;

function logIn(url: string, token: string, headers: Record<string, string> = {}) {
	return fetch(`${url}/login`, { ...manual, method: "POST", headers, body: new URLSearchParams({ token }) });
}

/** Cookie set by a response, as a browser returns it. */
function cookieOf(response: Response): string {
	return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

async function isLoggedIn({ url }: RunningGateway, cookie: string): Promise<boolean> {
	return (await fetch(`${url}/login/state`, { headers: { cookie } })).status === 200;
}

describe("one-time login link", () => {
	test("logs in once, with an HttpOnly and SameSite cookie", async (t) => {
		const gateway = await runGateway(t);
		const first = await fetch(gateway.loginUrl, press);
		assert.equal(first.status, 303);
		assert.equal(first.headers.get("location"), "./");
		assert.match(first.headers.getSetCookie()[0] ?? "", /; Path=\/; .*HttpOnly; SameSite=Strict$/);
		assert.equal(await isLoggedIn(gateway, cookieOf(first)), true);
		const second = await fetch(gateway.loginUrl, press);
		assert.equal(second.status, 401);
		assert.deepEqual(second.headers.getSetCookie(), []);
		assert.match(await second.text(), /This link has expired/);
	});

	test("shows a button, and is not consumed by a link preview", async (t) => {
		const gateway = await runGateway(t);
		await fetch(gateway.loginUrl, { ...manual, method: "HEAD" });
		const shown = await fetch(gateway.loginUrl, manual);
		assert.deepEqual([shown.status, shown.headers.getSetCookie()], [200, []]);
		const html = await shown.text();
		assert.match(html, /This link logs you in once\..*<form method="post"><button/s);
		assert.doesNotMatch(html, /name="token"/);
		const foreign = await fetch(gateway.loginUrl, { ...press, headers: { origin: "http://evil.example" } });
		assert.equal(foreign.status, 403);
		assert.equal((await fetch(gateway.loginUrl, press)).status, 303);
	});
});

test("expires links and logins created while the clock was a year ahead", async (t) => {
	let now = 365 * 24 * 60 * 60 * 1000;
	const first = await runGateway(t, { now: () => now });
	const second = await runGateway(t, { now: () => now });
	const cookie = cookieOf(await fetch(first.loginUrl, press));
	assert.equal(await isLoggedIn(second, cookie), true);
	const { search } = new URL(second.loginUrl);
	now = 0;
	assert.equal(await isLoggedIn(second, cookie), false);
	assert.equal((await fetch(`${first.url}/login${search}`, press)).status, 401);
});

test("applies a token only to its own request, not to later ones on the connection", async (t) => {
	const { url } = await runGateway(t);
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	t.after(() => agent.destroy());
	const statuses: (number | undefined)[] = [];
	const reused: boolean[] = [];
	for (const headers of [
		bearer(deviceToken),
		bearer("wrong"),
		{},
		bearer(monitorToken),
		bearer(deviceToken),
	]) {
		const asked = request(`${url}/ota/firmware.bin`, { agent, headers }).end();
		const [response] = await nextEvent(asked, "response");
		statuses.push(response.statusCode);
		reused.push(asked.reusedSocket);
		response.resume();
		await nextEvent(response, "end");
	}
	assert.deepEqual(statuses, [404, 401, 401, 404, 404]);
	assert.deepEqual(reused, [false, true, true, true, true]);
});

describe("token login", () => {
	test("accepts only the monitor token", async (t) => {
		const gateway = await runGateway(t);
		const right = await logIn(gateway.url, `\ufeff ${monitorToken}\u200b\r\n`);
		assert.equal(right.status, 303);
		assert.equal(await isLoggedIn(gateway, cookieOf(right)), true);
		for (const token of [deviceToken, "", monitorToken.slice(1), `${monitorToken}x`]) {
			const wrong = await logIn(gateway.url, token);
			assert.equal(wrong.status, 401);
			assert.match(await wrong.text(), /Invalid access token/);
		}
	});
	test("throttles invalid tokens and links after ten in a minute, and accepts valid ones", async (t) => {
		const gateway = await runGateway(t);
		const cookie = cookieOf(await logIn(gateway.url, monitorToken));
		const attempts = [
			() => logIn(gateway.url, "wrong"),
			() => fetch(`${gateway.url}/login?code=wrong`, press),
		];
		for (const attempt of attempts) {
			let blocked = await attempt();
			for (let count = 0; count < 10; count += 1) blocked = await attempt();
			assert.equal(blocked.status, 429);
			assert.match(blocked.headers.get("retry-after") ?? "", /^\d+$/);
			assert.match(await blocked.text(), /Too many wrong tokens from this address\. Try again in \d+ s/);
		}
		for (let i = 0; i < 10; i += 1) await gateway.refused("/device", bearer("wrong"));
		assert.equal((await gateway.refused("/device", bearer("wrong"))).status, 429);
		assert.equal((await logIn(gateway.url, monitorToken)).status, 303);
		assert.equal((await fetch(gateway.loginUrl, press)).status, 303);
		assert.equal(await isLoggedIn(gateway, cookie), true);
		await gateway.monitor();
		await gateway.device();
	});
});

test("ends a login with all copies of its cookie on logout, across a restart, after 30 days, and with its token", async (t) => {
	let now = Date.now();
	const dataDir = await temporaryDirectory(t);
	const gateway = await runGateway(t, { dataDir, now: () => now });
	const cookie = cookieOf(await logIn(gateway.url, monitorToken));
	now += 1;
	const other = cookieOf(await logIn(gateway.url, monitorToken));
	const out = await fetch(`${gateway.url}/logout`, { ...manual, method: "POST", headers: { cookie } });
	assert.deepEqual([out.status, cookieOf(out)], [303, `${cookie.split("=")[0]}=`]);
	const states = async (at: RunningGateway) => [await isLoggedIn(at, cookie), await isLoggedIn(at, other)];
	assert.deepEqual(await states(gateway), [false, true]);
	assert.equal(await isLoggedIn(gateway, other.replace(/=\d/, "=9")), false, "a forged time");
	await gateway.gateway.close();
	const later = await runGateway(t, { dataDir, now: () => now });
	assert.deepEqual(await states(later), [false, true]);
	assert.deepEqual(await states(await runGateway(t, { monitorToken: "another-monitor-token" })), [
		false,
		false,
	]);
	now += 30 * 24 * 60 * 60 * 1000;
	assert.deepEqual(await states(later), [false, false]);
});

describe("socket of a monitor", () => {
	const monitorOf = async (gateway: RunningGateway, headers: Readonly<Record<string, string>>) => {
		const monitor = await gateway.open("/monitor", { headers });
		assert.equal((await monitor.next()).reason, "snapshot");
		return monitor;
	};

	test("is closed on logout in another tab; sockets of other logins stay open", async (t) => {
		const gateway = await runGateway(t);
		const cookie = cookieOf(await logIn(gateway.url, monitorToken));
		const other = cookieOf(await fetch(gateway.loginUrl, press));
		const [first, second, stays] = await Promise.all([
			monitorOf(gateway, { cookie }),
			monitorOf(gateway, { cookie }),
			monitorOf(gateway, { cookie: other }),
		]);
		await fetch(`${gateway.url}/logout`, { ...manual, method: "POST", headers: { cookie } });
		const ended = { code: 1008, reason: "login ended" };
		assert.deepEqual([await first.closed, await second.closed], [ended, ended]);
		stays.send({ type: "boot_device", targetId: "dev-1-a1b2c3" });
		assert.equal((await stays.next()).code, "unknown_target");
	});

	test("has the permissions of its person's present role, and none once the token was removed", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const gateway = await runGateway(t, { dataDir });
		const token = "a-token-of-a-removed-administrator";
		const store = (...roles: readonly PersonRole[]) =>
			writeTokenFile(disk, tokenPath(dataDir), {
				...generateTokens(),
				named: roles.map((role) => ({ name: "anna", role, token })),
			});
		await store("monitor");
		const program = await monitorOf(gateway, bearer(token));
		const page = await monitorOf(gateway, { cookie: cookieOf(await logIn(gateway.url, token)) });
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
		const dataDir = await temporaryDirectory(t);
		const gateway = await runGateway(t, { dataDir, now: () => now, limits: { pingIntervalMs: 50 } });
		const token = "a-token-of-a-screen-in-the-lobby";
		const named = [{ name: "screen", role: "viewer", token } as const];
		await writeTokenFile(disk, tokenPath(dataDir), { ...generateTokens(), named });
		const screen = await monitorOf(gateway, bearer(token));
		const page = await monitorOf(gateway, { cookie: cookieOf(await logIn(gateway.url, monitorToken)) });
		await writeTokenFile(disk, tokenPath(dataDir), generateTokens());
		assert.equal((await screen.closed).code, 1008);
		now += 31 * 24 * 60 * 60 * 1000;
		assert.equal((await page.closed).code, 1008);
	});
});

test("fails a logout that cannot be written to disk", async (t) => {
	const rename: typeof disk.rename = async (from, to) => {
		if (String(to).includes("ended-logins")) throw Object.assign(new Error("full"), { code: "ENOSPC" });
		await disk.rename(from, to);
	};
	const gateway = await runGateway(t, { disk: { ...disk, rename } });
	const cookie = cookieOf(await logIn(gateway.url, monitorToken));
	const out = await fetch(`${gateway.url}/logout`, { ...manual, method: "POST", headers: { cookie } });
	assert.equal(out.status, 507);
});

test("invalidates the cookies of both tokens on logout during a rotation", async (t) => {
	const gateway = await runGateway(t, { monitorToken: `another-monitor-token,${monitorToken}` });
	const out = await fetch(`${gateway.url}/logout`, { ...manual, method: "POST" });
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
	const { text: link } = await posted(gateway.url, "/login/link", {
		host: "localhost",
		...bearer(monitorToken),
	});
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
	const sentence = /^StartError: DEVICE_TOKEN and MONITOR_TOKEN must differ/;
	const previousToken = "the-previous-monitor-token";
	const previous = `${monitorToken},${previousToken}`;
	const dataDir = await temporaryDirectory(t);
	await writeTokenFile(disk, tokenPath(dataDir), { device: deviceToken, monitor: deviceToken });
	const kept = { dataDir, deviceToken: undefined, monitorToken: undefined };
	await assert.rejects(runGateway(t, kept), (error) => sentence.test(String(error)));
	for (const token of [monitorToken, `${deviceToken},${monitorToken}`, previousToken])
		await assert.rejects(runGateway(t, { deviceToken: token, monitorToken: previous }), (error) => {
			assert.match(String(error), sentence);
			return true;
		});
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
	const cookie = `other=1; ${cookieOf(await logIn(gateway.url, monitorToken))}`;
	for (const origin of ["http://evil.example", "null", gateway.url.replace("127.0.0.1", "localhost")])
		assert.equal((await gateway.refused("/monitor", { cookie, origin })).status, 403);
	for (const origin of [gateway.url, "https://gateway.example"])
		await gateway.open("/monitor", { headers: { cookie }, origin });
	const { status, headers } = await gateway.refused("/monitor", { Cookie: "gateway=1.2" });
	assert.equal(status, 401);
	assert.match(String(headers["www-authenticate"]), /^Bearer/);
});

test("accepts any Origin with a bearer token, and ignores a cookie sent with it", async (t) => {
	const gateway = await runGateway(t);
	// Origin of a Python client behind a TLS proxy.
	const origin = `${gateway.url.replace("http:", "https:")}`;
	const cookie = cookieOf(await fetch(gateway.loginUrl, press));
	const requestLink = (headers: Readonly<Record<string, string>>) =>
		fetch(`${gateway.url}/login/link`, { method: "POST", headers });
	await gateway.open("/monitor", { headers: { ...bearer(monitorToken), origin } });
	await gateway.open("/device", { headers: { ...bearer(deviceToken), origin } });
	assert.equal((await requestLink({ ...bearer(monitorToken), origin })).status, 201);
	for (const token of ["wrong", deviceToken]) {
		const { status } = await gateway.refused("/monitor", { ...bearer(token), cookie, origin });
		assert.equal(status, 401);
		assert.equal((await requestLink({ ...bearer(token), cookie, origin })).status, 401);
	}
});

describe("link for another device", () => {
	const ben = { name: "ben", role: "user", token: "a-users-token-of-the-fixtures" } as const;

	async function run(t: TestContext, options: RunOptions = {}) {
		const dataDir = await temporaryDirectory(t);
		await writeTokenFile(disk, tokenPath(dataDir), { ...generateTokens(), named: [ben] });
		return { dataDir, gateway: await runGateway(t, { dataDir, ...options }) };
	}

	/** Requests a link with this login. */
	async function linkOf(gatewayUrl: string, headers: Record<string, string>) {
		const response = await fetch(`${gatewayUrl}/login/link`, { method: "POST", headers });
		const { url, expiresAt } = JSON.parse(await response.text());
		return { status: response.status, url: String(url), expiresAt: String(expiresAt) };
	}

	async function stateOf(url: string, cookie: string) {
		return (await fetch(`${url}/login/state`, { headers: { cookie } })).json();
	}

	test("logs in once, with the name and role of its creator", async (t) => {
		const { gateway } = await run(t);
		for (const [token, person] of [
			[ben.token, { name: "ben", role: "user" }],
			[monitorToken, { name: "monitor", role: "monitor" }],
		] as const) {
			const cookie = cookieOf(await logIn(gateway.url, token));
			const { status, url, expiresAt } = await linkOf(gateway.url, { cookie });
			assert.equal(status, 201);
			assert.ok(url.startsWith(`${gateway.url}/login?code=`), url);
			assert.ok(Date.parse(expiresAt) > Date.now(), `expired at ${expiresAt}`);
			const first = await fetch(url, press);
			assert.deepEqual(await stateOf(gateway.url, cookieOf(first)), person);
			assert.equal((await fetch(url, press)).status, 401);
		}
	});

	test("invites a person under the name as typed, once within a day; a renewed link works again", async (t) => {
		let [now, ran] = [Date.now(), 0];
		const { gateway } = await run(t, { now: () => now, monotonic: () => ran });
		const post = async (path: string, body?: object, token: string = monitorToken) => {
			const headers = { ...bearer(token), ...(body && { "Content-Type": "application/json" }) };
			const init = { method: "POST", headers, ...(body && { body: JSON.stringify(body) }) };
			const response = await fetch(`${gateway.url}${path}`, init);
			return { status: response.status, ...JSON.parse(await response.text()) };
		};
		const name = "Anna-Lena Groß";
		assert.equal((await post("/api/tokens", { name: ` ${name} `, role: "viewer" })).name, name);
		assert.equal((await post("/api/tokens", { name: name.toLowerCase(), role: "user" })).status, 409);
		for (const wrong of ["", "..", "a/b", "a\\b", "a\nb"])
			assert.equal((await post("/api/tokens", { name: wrong, role: "user" })).status, 422, wrong);
		const path = `/api/tokens/${encodeURIComponent(name)}/link`;
		assert.equal((await post(path, undefined, ben.token)).status, 403);
		assert.equal((await post("/api/tokens/nobody/link")).status, 404);
		const [first, second, renewed] = [await post(path), await post(path), await post(path)];
		assert.equal(Date.parse(first.expiresAt) - now, 24 * 60 * 60_000);
		now += 23 * 60 * 60_000;
		ran += 23 * 60 * 60_000;
		const login = await fetch(first.url, press);
		assert.deepEqual(await stateOf(gateway.url, cookieOf(login)), { name, role: "viewer" });
		const again = await fetch(first.url, press);
		assert.equal(again.status, 401);
		assert.match(await again.text(), /This link has expired\. Ask for a new one\./);
		assert.equal((await fetch(renewed.url, press)).status, 303);
		now += 60 * 60_000;
		assert.equal((await fetch(second.url, press)).status, 401, "after a day");
	});

	test("expires after ten minutes, and with its creator's token, even if another person gets the name", async (t) => {
		let [now, ran] = [Date.now(), 0];
		const { gateway, dataDir } = await run(t, { now: () => now, monotonic: () => ran });
		for (const [minutes, status] of [
			[9, 303],
			[10, 401],
		] as const) {
			const { url } = await linkOf(gateway.url, bearer(ben.token));
			now += minutes * 60_000;
			ran += minutes * 60_000;
			assert.equal((await fetch(url, press)).status, status, `after ${minutes} minutes`);
		}
		const { url } = await linkOf(gateway.url, bearer(ben.token));
		const named = [{ ...ben, role: "monitor", token: "another-token-of-the-same-name" } as const];
		await writeTokenFile(disk, tokenPath(dataDir), { ...generateTokens(), named });
		assert.equal((await fetch(url, press)).status, 401);
	});
});

test("accepts with AUTH=off only local clients and no web sites, even those that resolve to the gateway's address", async (t) => {
	const gateway = await runGateway(t, { auth: false });
	await gateway.open("/device");
	await gateway.open("/monitor", { origin: gateway.url });
	assert.equal((await fetch(`${gateway.url}/login/link`, { method: "POST" })).status, 409);
	const { port } = new URL(gateway.url);
	for (const path of ["/device", "/monitor"]) {
		const foreign = { origin: "http://evil.example", ...bearer(monitorToken) };
		assert.equal((await gateway.refused(path, foreign)).status, 403);
		const rebound = { origin: `http://evil.example:${port}`, host: `evil.example:${port}` };
		assert.equal((await gateway.refused(path, rebound)).status, 403);
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
		const { url, refused } = await runGateway(t);
		const Authorization = `Basic ${Buffer.from(`x:${monitorToken}`).toString("base64")}`;
		const api = await fetch(`${url}/api/devices`, { headers: { Authorization } });
		const monitor = await refused("/monitor", { Authorization });
		for (const [status, body] of [
			[api.status, await api.text()],
			[monitor.status, monitor.body],
		] as const) {
			assert.equal(status, 401);
			assert.match(JSON.parse(body).detail, /password of the URL/);
		}
	});

	test("answers an upgrade to any other path with 404", async (t) => {
		const gateway = await runGateway(t);
		for (const path of ["/", "/devices", "/device/", "//device", "/monitor/x"])
			assert.equal((await gateway.refused(path, bearer(deviceToken))).status, 404, path);
	});

	test("answers an upgrade without Host with 400, and accepts an absolute target", async (t) => {
		const { url } = await runGateway(t);
		const request = upgradeRequest("/device", deviceToken);
		assert.match(await answerTo(url, request.replace("Host: x\r\n", "")), /^HTTP\/1\.1 400 /);
		const absolute = request.replace("/device", "http://gateway.example/device");
		assert.match(await answerTo(url, absolute), /^HTTP\/1\.1 101 /);
		assert.match(await answerTo(url, request.replace("/device", "x:///device?")), /^HTTP\/1\.1 101 /);
	});

	test("answers an unsupported method with 405 and Allow, on each route", async (t) => {
		const { url } = await runGateway(t);
		const allowed = new Map<string, string[]>();
		for (const route of await routesOf(url)) {
			const [method = "", path = ""] = route.split(" ");
			allowed.set(path, [...(allowed.get(path) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
		}
		assert.ok(allowed.size > 10, `${allowed.size} paths`);
		for (const [path, methods] of allowed)
			for (const method of ["GET", "POST", "PUT", "DELETE", "PATCH"]) {
				if (methods.includes(method)) continue;
				const address = `${url}${examplePath(path)}`;
				const { status, headers } = await fetch(address, { method, headers: bearer(monitorToken) });
				const allow = headers.get("allow")?.split(", ").sort();
				assert.deepEqual([status, allow], [405, methods.sort()], `${method} ${path}`);
			}
	});

	test("survives malformed requests", async (t) => {
		const gateway = await runGateway(t);
		const { port } = new URL(gateway.url);
		const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
		const token = `Authorization: Bearer ${deviceToken}\r\n`;
		for (const request of [
			"\0\x01\x02 garbage\r\n\r\n",
			`GET /device HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`,
			`GET /device HTTP/1.1\r\nHost: x\r\n${upgrade}${token}\r\n`,
			`GET /device HTTP/1.1\r\nHost: [\r\n${upgrade}${token}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n`,
			`GET //[ HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`,
			`POST /device HTTP/1.1\r\nHost: x\r\n${upgrade}${token}\r\n`,
			`GET /device HTTP/1.1\r\n${upgrade}\r\n`,
		]) {
			const socket = connect(Number(port), "127.0.0.1");
			socket.end(request);
			let answer = "";
			for await (const chunk of socket) answer += chunk;
			assert.match(answer, /^HTTP\/1\.1 4\d\d /, request);
		}
		await gateway.device();
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
	const gateway = await runGateway(t, { log: createLog("trace", stream) });
	await fetch(gateway.loginUrl, press);
	await fetch(gateway.loginUrl, press);
	await logIn(gateway.url, monitorToken);
	await logIn(gateway.url, "another-persons-token");
	await gateway.refused("/device", bearer("another-persons-token"));
	const monitor = await gateway.monitor();
	const { device } = await gateway.namedDevice(monitor);
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
		assert.equal((await gateway.refused("/device", headers)).status, status);
	await gateway.refused("/monitor", bearer(own));
	await gateway.refused(`/device/?token=${own}`);
	await fetch(`${gateway.url}/ota/upload`, { method: "POST", headers: bearer(own) });
	await fetch(`${gateway.url}/releases/nothing.bin`, { headers: bearer(own) });

	await gateway.gateway.close();
	for (const event of ["device: disconnected", "uplink dropped", "upgrade rejected", "wrong token"])
		assert.ok(log.includes(event), event);
	const code = new URL(gateway.loginUrl).searchParams.get("code") ?? "";
	for (const secret of [deviceToken, monitorToken, code, "another-persons-token", signature])
		assert.ok(!log.includes(secret), log);
});
