/**
 * A real Chromium at a real gateway, logged in. Whatever a test looks at, its page must ask no other host for anything and
 * have nothing to complain about: that is checked when the test ends.
 */

import assert from "node:assert/strict";
import { accessSync, constants } from "node:fs";
import { after, type TestContext } from "node:test";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { monitorToken } from "../gateway/running.js";

const places = [
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
	"/usr/bin/google-chrome",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** Undefined where there is none on this computer. */
export const chromiumPath = [process.env.CHROMIUM, ...places].find((path) => path && isExecutable(path));

/** Of a test that needs Chromium: why it is left out, or false. */
export const skip =
	chromiumPath === undefined &&
	"no Chromium was found: install it (Debian: apt-get install chromium) or set CHROMIUM to its path";

/** Nothing that leaves this computer, and nothing that a container or a computer without a screen lacks. */
const args = [
	"--no-sandbox",
	"--disable-gpu",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
];

export function launchChromium(): Promise<Browser> {
	if (chromiumPath === undefined) throw new Error(String(skip));
	return chromium.launch({ executablePath: chromiumPath, args });
}

/** So long a test waits for what must come before it says that it did not. */
const patienceMs = 60_000;

/** A gateway goes before the page that is open at it, at the end of a test if not earlier. */
const outage = /ERR_(CONNECTION|EMPTY_RESPONSE)|WebSocket connection to/;

export interface OpenOptions extends BrowserContextOptions {
	/** Fragment of the address: `#/firmware`. */
	readonly view?: string;
	/** Something that the page is expected to complain about, such as a connection that is refused. */
	readonly expected?: RegExp;
}

/** For one test file: a browser that starts with its first test and ends with its last. */
export function browsing() {
	let browser: Promise<Browser> | undefined;
	after(async () => (await browser)?.close());

	/** A new window that is logged in at the gateway at `url`. */
	return async (t: TestContext, url: string, options: OpenOptions = {}): Promise<Page> => {
		browser ??= launchChromium();
		const { view = "", expected, ...contextOptions } = options;
		const context = await (await browser).newContext({
			viewport: { width: 1280, height: 900 },
			...contextOptions,
		});
		context.setDefaultTimeout(patienceMs);
		const complaints: string[] = [];
		context.on("console", (message) => {
			if (["error", "warning"].includes(message.type())) complaints.push(message.text());
		});
		context.on("weberror", (error) => complaints.push(String(error.error())));
		context.on("request", (request) => {
			if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url))
				complaints.push(request.url());
		});
		t.after(async () => {
			await context.close();
			assert.deepEqual(
				complaints.filter((complaint) => !outage.test(complaint) && !expected?.test(complaint)),
				[],
				"the page has nothing to complain about",
			);
		});
		await logIn(context.request, url);
		const page = await context.newPage();
		await page.goto(`${url}/${view}`);
		return page;
	};
}

/** Trades the monitor token for a cookie, as the login form does. */
export async function logIn(request: Page["request"], url: string): Promise<void> {
	const response = await request.post(`${url}/login`, { form: { token: monitorToken }, maxRedirects: 0 });
	assert.equal(response.status(), 303);
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}
