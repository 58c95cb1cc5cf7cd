/** A person installs firmware on a board over USB, sets boards up, and gets over what goes wrong. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { deviceTokenOf } from "../../gateway/access/secrets.js";
import { readSettings } from "../../hosts/virtual/node/boot/nvs-store.js";
import { addRelease } from "../../scripts/release/folder.js";
import { makeVirtualImages } from "../../scripts/release/images.js";
import { Authority, tlsFiles } from "../support/certificates.js";
import { skip } from "../support/chromium.js";
import { waitUntil } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { whyMissing } from "../support/programs.js";
import { deviceToken, runGateway, temporaryDirectory } from "../support/running.js";
import { checkView } from "./axe.js";
import { browsing, disclose, sees } from "./browsing.js";
import { withoutSerialPort, withSerialPort } from "./serial/serial-port.js";
import { UsbBoard, type UsbBoardOptions } from "./serial/usb-board.js";

const open = browsing();
const home = { ssid: "home", rssi: -50, password: "correct horse" };
const deviceId = "dev-1-020000c0ffee";

/** Opens the view of a gateway with a release; `plugIn` sets the board that the user selects in the browser's list of ports. */
async function openView(t: TestContext, url: string, releasesDir: string) {
	const images = await makeVirtualImages("1.1.0", 0);
	await addRelease(releasesDir, { version: "1.1.0", date: "2026-01-02", notes: "", images });
	let board: UsbBoard | undefined;
	const page = await open(t, url, {
		view: "#/add",
		prepare: async (context) => {
			await withSerialPort(() => board)(context);
			// The firmware of a virtual device runs on the simulated board, whose chip has another name.
			await context.route("**/ota/catalog", async (route) => {
				const response = await route.fetch();
				const body = (await response.text()).replaceAll('"virtual"', '"esp32s3"');
				await route.fulfill({ response, body });
			});
		},
		ignoreHTTPSErrors: true,
		expected: /503/,
	});
	const plugIn = (options: Partial<UsbBoardOptions> = {}) => {
		const plugged = new UsbBoard({ serial: "c0ffee", accessPoints: [home], ...options });
		t.after(() => plugged.powerOff());
		board = plugged;
		return plugged;
	};
	return { page, plugIn };
}

async function fillIn(page: Page, { ssid, password } = home): Promise<void> {
	await page.getByLabel("Wi-Fi name", { exact: true }).fill(ssid);
	await page.getByLabel("Wi-Fi password", { exact: true }).fill(password);
}

function click(page: Page, name: string): Promise<void> {
	return page.getByRole("button", { name, exact: true }).click();
}

async function joined(page: Page): Promise<void> {
	await page.getByText(`${deviceId} is installed and has joined the fleet.`).waitFor();
}

/** Waits for the reason of a failed installation. */
async function failsBy(page: Page, reason: RegExp): Promise<void> {
	const panel = page.getByRole("region", { name: "Installation failed" });
	await panel.filter({ hasText: reason }).waitFor();
}

test("installing firmware over USB", { skip: skip || whyMissing("openssl") }, async (t) => {
	const { url, releasesDir, release, monitorClient } = await runFleet(t);
	const { page, plugIn } = await openView(t, url, releasesDir);
	const again = () => click(page, "Add another device");

	await t.test("explains that no port was chosen, or the cable has no data lines", async () => {
		await fillIn(page);
		await click(page, "Install");
		await failsBy(page, /No port selected\..*use a USB cable that carries data/s);
		await page.reload();
	});

	let board = plugIn();
	await t.test("reports invalid input at its field, before anything is written", async () => {
		await page.getByLabel("Gateway address").fill("wss://gateway.example/device");
		await page.getByLabel("Wi-Fi password", { exact: true }).fill("short");
		await click(page, "Install");
		const name = page.getByLabel("Wi-Fi name", { exact: true });
		await name.and(page.locator(":focus")).waitFor();
		assert.equal(await name.getAttribute("aria-invalid"), "true");
		await page.getByText("wss requires the CA certificate").waitFor();
		await page.getByText("The Wi-Fi password must have 8 to 63 characters").waitFor();
		await checkView(page);
		await page.getByLabel("Gateway address").fill(`${url.replace("http", "ws")}/device`);
		assert.equal(board.isFlashEmpty, true);
	});

	await t.test("provisions Wi-Fi, gateway and a token for the device alone; then names it", async () => {
		await disclose(page, "Second network");
		await page.getByLabel("Second Wi-Fi name").fill("workshop");
		await page.getByLabel("Second Wi-Fi password").fill("staple battery");
		await fillIn(page);
		await click(page, "Install");
		await joined(page);
		const stored = readSettings(board.flash);
		const settings = ["ssid", "password", "ssid2", "password2", "gateway", "token"].map((name) =>
			stored.get(name),
		);
		assert.deepEqual(settings, [
			"home",
			"correct horse",
			"workshop",
			"staple battery",
			`${url.replace("http", "ws")}/device`,
			deviceTokenOf(deviceToken, deviceId),
		]);
		assert.equal(board.startedFrom?.version, "1.1.0");
		await click(page, "Name it");
		await page.getByLabel("Name", { exact: true }).fill("Lobby speaker");
		await page.getByLabel("Room", { exact: true }).fill("Lobby");
		await checkView(page);
		await click(page, "Save");
		const { name, room } = await monitorClient.change("labelled");
		assert.deepEqual([name, room], ["Lobby speaker", "Lobby"]);
		await page.getByRole("link", { name: "Open Lobby speaker" }).waitFor();
	});

	await t.test("erases the settings on the board with the next release", async () => {
		const payload = { command: "set_volume", value: 33 };
		await monitorClient.request({ type: "control_device", targetId: deviceId, payload });
		await waitUntil(
			() => readSettings(board.flash).get("volume") === "33",
			() => board.written(),
		);
		await release("1.2.0", ...(await makeVirtualImages("1.2.0", 0)));
		await again();
		await page.reload();
		await page.getByText("Firmware 1.2.0").waitFor();
		await fillIn(page);
		await click(page, "Install");
		await joined(page);
		assert.equal(board.startedFrom?.version, "1.2.0");
		assert.equal(readSettings(board.flash).get("volume"), undefined);
		await board.powerOff();
		await again();
	});

	for (const { fault, options = {}, arrange = async () => {}, reason } of [
		{
			fault: "the port is in use by another program",
			arrange: async (plugged: UsbBoard) => {
				plugged.faults.isBusy = true;
			},
			reason: /The port cannot be opened\.\s*Close other programs that use it/,
		},
		{
			fault: "the gateway does not serve the firmware",
			arrange: () => page.route("**/flash.json", (route) => route.fulfill({ status: 503 }), { times: 1 }),
			reason: /Firmware download failed: HTTP status 503\./,
		},
		{
			fault: "the board has another chip",
			options: { chip: "ESP32-C6" as const },
			reason: /this board has an ESP32-C6\. Nothing was written\./,
		},
		{
			fault: "the board's chip is unknown",
			options: { chip: "not known yet" as const },
			reason: /does not support the chip of this board\. Nothing was written\./,
		},
		{
			fault: "the board must be put into download mode by its buttons",
			options: { hasNoResetLines: true },
			reason: /does not respond\.\s*Enter download mode manually: hold the BOOT/,
		},
	])
		await t.test(`explains that ${fault}`, async () => {
			board = plugIn(options);
			await arrange(board);
			await fillIn(page);
			await click(page, "Install");
			await failsBy(page, reason);
			await checkView(page);
			assert.equal(board.isFlashEmpty, true);
		});

	await t.test("continues once the board is in download mode, and asks for a reset at the end", async () => {
		await board.pressBootAndReset();
		await click(page, "Install");
		await page.getByText("Ring stays dark:").waitFor();
		await checkView(page);
		await board.pressReset();
		await joined(page);
		await board.powerOff();
		await again();
	});

	await t.test("repairs a board that was unplugged meanwhile from the chip's own USB port", async () => {
		board = plugIn({ isNative: true });
		board.faults.lostAfterBlocks = 2;
		await fillIn(page);
		await click(page, "Install");
		await failsBy(page, /The board was unplugged.*\s*Plug it in and install again/);
		await click(page, "Install");
		await joined(page);
		await board.powerOff();
		await again();
	});

	await t.test("corrects a wrong password without erasing the board", async () => {
		board = plugIn();
		await fillIn(page, { ...home, password: "wrong horse" });
		await click(page, "Install");
		await page.getByText("Waiting for it to connect…").waitFor();
		await click(page, "Back to settings");
		await page.getByLabel("Set up the installed firmware").check();
		await click(page, "Find networks");
		await page.getByText("In range of the board: home.").waitFor();
		await checkView(page);
		await click(page, "Set up");
		await failsBy(page, /could not join the Wi-Fi network\.\s*Check the network name and password/);
		await fillIn(page);
		await click(page, "Set up");
		await joined(page);
	});
});

test("the authority of the gateway's certificate is installed too", {
	skip: skip || whyMissing("openssl"),
}, async (t) => {
	const dataDir = await temporaryDirectory(t);
	const authority = new Authority(dataDir, "test");
	const { cert, key } = authority.issue("IP:127.0.0.1");
	const tls = tlsFiles(dataDir, { cert: `${cert}${authority.certificate}`, key });
	const releasesDir = join(dataDir, "releases");
	const { url } = await runGateway(t, { dataDir, releasesDir, tls });
	const { page, plugIn } = await openView(t, url, releasesDir);
	const board = plugIn();
	await fillIn(page);
	await click(page, "Install");
	await joined(page);
	assert.equal(readSettings(board.flash).get("ca"), authority.base64);
});

test("without Web Serial the command line is shown, with the token on request", { skip }, async (t) => {
	const { url } = await runGateway(t);
	for (const [isSecure, reason] of [
		[true, "This browser does not support Web Serial."],
		[false, "Browsers allow access to USB ports only over https"],
	] as const) {
		const permissions = ["clipboard-read", "clipboard-write"];
		const page = await open(t, url, { view: "#/add", permissions, prepare: withoutSerialPort(isSecure) });
		await page.getByText(reason).waitFor();
		const gateway = `${url.replace("http", "ws")}/device`;
		await sees(page, `npm run flash -- dev-1 ssid=<name> password=<password> gateway=${gateway}`);
		assert.equal((await page.content()).includes(deviceToken), false);
		await click(page, "Copy");
		await page.getByText("Copied").waitFor();
		assert.match(await page.evaluate("navigator.clipboard.readText()"), new RegExp(`token=${deviceToken}$`));
		await checkView(page);
	}
	const page = await open(t, url, { view: "#/add", prepare: withSerialPort(() => undefined) });
	await page.getByText("No release for DEV-1 boards yet.").waitFor();
	assert.equal(await page.getByRole("button", { name: "Install" }).isDisabled(), true);
});
