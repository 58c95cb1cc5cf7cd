import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { deviceTokenOf } from "../../gateway/access/secrets.js";
import { settingsNamespace } from "../../hosts/esp32/nvs-image.js";
import { flashFactoryImage, makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { readSettings } from "../../hosts/virtual/node/boot/nvs-store.js";
import { partitions } from "../../hosts/virtual/node/boot/partitions.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { addRelease } from "../../scripts/release/folder.js";
import { makeVirtualImages } from "../../scripts/release/images.js";
import { readStrings } from "../hosts/esp32/nvs/reader.js";
import { Authority, tlsFiles } from "../support/certificates.js";
import { skip } from "../support/chromium.js";
import { runCommand } from "../support/command-line.js";
import { waitUntil } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { whyMissing } from "../support/programs.js";
import { deviceToken, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";
import { browsing } from "./browsing.js";
import { withoutSerialPort, withSerialPort } from "./serial/serial-port.js";
import { UsbBoard, type UsbBoardOptions } from "./serial/usb-board.js";

const open = browsing();
const network = { ssid: "home", rssi: -50, password: "correct horse" };
const deviceId = "dev-1-020000c0ffee";

function plugIn(t: TestContext, options: Partial<UsbBoardOptions> = {}): UsbBoard {
	const board = new UsbBoard({ serial: "c0ffee", accessPoint: network, ...options });
	t.after(() => board.powerOff());
	return board;
}

/** Opens the view of a gateway with a release; `board` is what the user selects in the browser's port list. */
async function openView(t: TestContext, board: UsbBoard | undefined, expected?: RegExp) {
	const fleet = await runFleet(t);
	await fleet.release("1.1.0", ...(await makeVirtualImages("1.1.0", 0)));
	let chosen = board;
	const prepare = withSerialPort(() => chosen);
	const page = await open(t, fleet.url, { view: "#/add?virtual", prepare, ...(expected && { expected }) });
	const choose = (other: UsbBoard) => {
		chosen = other;
	};
	return { ...fleet, page, choose };
}

async function fillIn(page: Page, { ssid, password } = network): Promise<void> {
	await page.getByLabel("Wi-Fi name", { exact: true }).fill(ssid);
	await page.getByLabel("Wi-Fi password", { exact: true }).fill(password);
}

function install(page: Page): Promise<void> {
	return page.getByRole("button", { name: "Install" }).click();
}

async function joined(page: Page): Promise<void> {
	await page.getByText(`${deviceId} is installed and has joined the fleet.`).waitFor();
}

/** Failure message of the view. */
async function failure(page: Page): Promise<string> {
	const panel = page.getByRole("region", { name: "Installation failed" });
	await panel.waitFor();
	return panel.innerText();
}

describe("installing from the dashboard", { skip }, () => {
	test("brings a board with empty flash into a demo's fleet", async (t) => {
		const folder = await temporaryDirectory(t);
		const demo = runCommand(t, "scripts/demo.ts", [], {
			PORT: "0",
			DATA_DIR: join(folder, "data"),
			RELEASES_DIR: join(folder, "releases"),
			MONITOR_TOKEN: monitorToken,
		});
		await demo.printed(/Ctrl-C/);
		const url = /Dashboard\s+(\S+)\/login/.exec(demo.output())?.[1] ?? "";
		const board = plugIn(t);
		const page = await open(t, url, { prepare: withSerialPort(() => board) });
		await page.getByText("2 of 2 connected").waitFor();
		await page.goto(`${url}/#/add?virtual`);
		await fillIn(page);
		await page.getByText("A board cannot reach this address").waitFor();
		await install(page);
		await joined(page);
		await page.getByRole("link", { name: `Open ${deviceId}` }).click();
		await page.getByRole("heading", { name: deviceId }).waitFor();
		await page.getByRole("link", { name: "Diagnostics" }).click();
		await page.getByText("1.0.1").first().waitFor();
	});

	test("provisions settings and a token for the device alone", async (t) => {
		const board = plugIn(t);
		const { page, url } = await openView(t, board);
		await fillIn(page);
		await install(page);
		await joined(page);
		const { offset, byteLength } = partitions.nvs;
		const stored = readStrings(board.flash.read(offset, byteLength), settingsNamespace);
		assert.deepEqual(Object.fromEntries([...stored].filter(([name]) => name !== "clock")), {
			ssid: "home",
			password: "correct horse",
			gateway: `${url.replace("http", "ws")}/device`,
			token: deviceTokenOf(deviceToken, deviceId),
		});
		assert.equal(board.startedFrom?.slot, 0);
		assert.equal(board.startedFrom?.version, "1.1.0");
	});

	test("provisions a second network, joined if the first is out of range", async (t) => {
		const board = plugIn(t, { accessPoint: { ssid: "workshop", rssi: -60, password: "staple battery" } });
		const { page } = await openView(t, board);
		await fillIn(page);
		await page.getByText("Second network").click();
		const password = page.getByLabel("Second Wi-Fi password");
		await password.fill("staple battery");
		await page.getByText("Second network").click();
		await install(page);
		await page.getByText("Enter the name of the second Wi-Fi network.").waitFor();
		const name = page.getByLabel("Second Wi-Fi name");
		await name.and(page.locator(":focus")).fill("workshop");
		await password.fill("staple");
		await install(page);
		await page.getByText("The Wi-Fi password must have 8 to 63 characters").waitFor();
		assert.ok(board.isFlashEmpty, "the flash was written");
		await password.fill("staple battery");
		await install(page);
		await joined(page);
		const stored = readSettings(board.flash);
		assert.deepEqual(
			["ssid", "password", "ssid2", "password2"].map((each) => stored.get(each)),
			["home", "correct horse", "workshop", "staple battery"],
		);
	});

	test("prefills the certificate authority if the gateway's certificate has its own", {
		skip: whyMissing("openssl"),
	}, async (t) => {
		const dataDir = await temporaryDirectory(t);
		const releasesDir = join(dataDir, "releases");
		const authority = new Authority(dataDir, "test");
		const { cert, key } = authority.issue("IP:127.0.0.1");
		const tls = tlsFiles(dataDir, { cert: `${cert}${authority.certificate}`, key });
		const { url } = await runGateway(t, { dataDir, releasesDir, tls, authority: authority.certificate });
		const images = await makeVirtualImages("1.1.0", 0);
		await addRelease(releasesDir, { version: "1.1.0", date: "2026-01-02", notes: "", images });
		const board = plugIn(t);
		const prepare = withSerialPort(() => board);
		const page = await open(t, url, { view: "#/add?virtual", prepare, ignoreHTTPSErrors: true });
		await fillIn(page);
		await install(page);
		await joined(page);
		assert.equal(readSettings(board.flash).get("ca"), authority.base64);
	});

	test("offers to name the device and its room afterwards", async (t) => {
		const { page, monitorClient } = await openView(t, plugIn(t));
		await fillIn(page);
		await install(page);
		await joined(page);
		await page.getByLabel("Name", { exact: true }).fill("Lobby speaker");
		await page.getByLabel("Room", { exact: true }).fill("Lobby");
		await page.getByRole("button", { name: "Save" }).click();
		const { name, room } = await monitorClient.change("labelled");
		assert.deepEqual([name, room], ["Lobby speaker", "Lobby"]);
		await page.getByRole("link", { name: "Open Lobby speaker" }).waitFor();
	});

	test("keeps or erases settings on reinstallation, as chosen", async (t) => {
		const board = plugIn(t);
		const { page, release, monitorClient } = await openView(t, board);
		await fillIn(page);
		await install(page);
		await joined(page);
		await monitorClient.request({
			type: "control_device",
			targetId: deviceId,
			payload: { command: "set_volume", value: 33 },
		});
		await waitUntil(
			() => readSettings(board.flash).get("volume") === "33",
			() => board.written(),
		);
		const before = readSettings(board.flash).get("token");

		await release("1.2.0", ...(await makeVirtualImages("1.2.0", 0)));
		await page.getByRole("button", { name: "Add another device" }).click();
		await page.reload();
		await page.getByText("Firmware 1.2.0").waitFor();
		await page.getByLabel("Keep the settings on the board").check();
		assert.equal(await page.getByLabel("Wi-Fi name", { exact: true }).count(), 0);
		await install(page);
		await joined(page);
		assert.equal(board.startedFrom?.version, "1.2.0");
		assert.equal(readSettings(board.flash).get("volume"), "33");
		assert.equal(readSettings(board.flash).get("token"), before);

		await page.getByRole("button", { name: "Add another device" }).click();
		await page.getByLabel("New settings").check();
		await fillIn(page);
		await install(page);
		await joined(page);
		assert.equal(readSettings(board.flash).get("volume"), undefined);
	});

	test("reports invalid fields before connecting", async (t) => {
		const { page, url } = await openView(t, plugIn(t));
		await page.getByLabel("Gateway address").fill("http://192.168.1.10");
		await page.getByLabel("Wi-Fi password", { exact: true }).fill("short");
		await install(page);
		const ssid = page.getByLabel("Wi-Fi name", { exact: true });
		await ssid.and(page.locator(":focus")).waitFor();
		assert.equal(await ssid.getAttribute("aria-invalid"), "true");
		const password = page.getByLabel("Wi-Fi password", { exact: true });
		assert.equal(await password.getAttribute("type"), "password");
		await page.getByRole("button", { name: "Show" }).click();
		assert.equal(await password.getAttribute("type"), "text");
		await page.getByText("Enter the name of the Wi-Fi network.").waitFor();
		await page.getByText("The Wi-Fi password must have 8 to 63 characters").waitFor();
		await page.getByText(/^gateway must be ws:/).waitFor();
		await page.getByLabel("Gateway address").fill("wss://gateway.example/device");
		await page.getByText("wss requires the CA certificate").waitFor();
		await page.getByLabel("Gateway address").fill(`${url.replace("http", "ws")}/device`);
		await fillIn(page);
		await install(page);
		await joined(page);
	});
});

describe("setting up a board that has the firmware, by its serial port", { skip }, () => {
	/** Flashes a board without settings. */
	async function openSetUp(t: TestContext, options: Partial<UsbBoardOptions> = {}, expected?: RegExp) {
		const board = plugIn(t, options);
		flashFactoryImage(board.flash, makeVirtualImage((await buildFirmware()).bytes, "DEV-1", "1.0.0"));
		await board.pressReset();
		const view = await openView(t, board, expected);
		await view.page.getByLabel("Set up the installed firmware").check();
		return { ...view, board };
	}
	const setUp = (page: Page) => page.getByRole("button", { name: "Set up" }).click();

	test("offers the networks in range, and provisions the board with its own token", async (t) => {
		const { page, url, board } = await openSetUp(t);
		await page.getByRole("button", { name: "Find networks" }).click();
		await page.getByText("In range of the board: home.").waitFor();
		assert.deepEqual(
			await page.locator("datalist option").evaluateAll((all) => all.map((one) => one.getAttribute("value"))),
			["home"],
		);
		await fillIn(page);
		await setUp(page);
		await joined(page);
		const stored = readSettings(board.flash);
		assert.deepEqual(
			["ssid", "password", "gateway", "token"].map((name) => stored.get(name)),
			["home", "correct horse", `${url.replace("http", "ws")}/device`, deviceTokenOf(deviceToken, deviceId)],
		);
		assert.equal(board.startedFrom?.version, "1.0.0", "nothing was installed");
	});

	test("reports a wrong password, and accepts another one", async (t) => {
		const { page } = await openSetUp(t);
		await fillIn(page, { ...network, password: "wrong horse" });
		await setUp(page);
		assert.match(
			await failure(page),
			/could not join the Wi-Fi network\.\s+Check the network name and password/,
		);
		await fillIn(page);
		await setUp(page);
		await joined(page);
		await page.getByRole("button", { name: "Add another device" }).click();
		await setUp(page);
		await page.clock.install();
		await page.getByText("Connecting to the board…").waitFor();
		await page.clock.fastForward(10_000);
		assert.match(
			await failure(page),
			/does not respond\.\s+If the ring shows a rainbow, the device is connected to a gateway/,
		);
	});

	test("corrects the password of an installed board without erasing it", async (t) => {
		const board = plugIn(t);
		const { page } = await openView(t, board);
		await fillIn(page, { ...network, password: "wrong horse" });
		await install(page);
		await page.getByText("Waiting for it to connect…").waitFor();
		await page.getByRole("button", { name: "Back to settings" }).click();
		await page.getByLabel("Set up the installed firmware").check();
		await fillIn(page);
		await setUp(page);
		await joined(page);
	});

	test("reports which setting the board rejects", async (t) => {
		const { page, board } = await openSetUp(t);
		await fillIn(page, { ...network, password: "pässword" });
		await setUp(page);
		assert.match(await failure(page), /could not join the Wi-Fi network/);
		await page.getByLabel("Gateway address").fill(`ws://${"a".repeat(300)}/device`);
		await fillIn(page);
		await setUp(page);
		await page
			.getByText("gateway must be an address like ws://host:port/device of at most 256 characters.")
			.waitFor();
		assert.equal(readSettings(board.flash).get("ssid"), undefined);
	});
});

describe("explains a failed installation:", { skip }, () => {
	test("no port was chosen, or the cable has no data lines", async (t) => {
		const { page, choose } = await openView(t, undefined);
		await fillIn(page);
		await install(page);
		const said = await failure(page);
		assert.match(said, /No port selected\./);
		assert.match(said, /use a USB cable that carries data/);
		choose(plugIn(t));
		await install(page);
		await joined(page);
	});

	test("the port is in use by another program", async (t) => {
		const board = plugIn(t);
		board.faults.isBusy = true;
		const { page } = await openView(t, board);
		await fillIn(page);
		await install(page);
		assert.match(await failure(page), /The port cannot be opened\.\s+Close other programs that use it/);
		board.faults.isBusy = false;
		await install(page);
		await joined(page);
	});

	test("the board must be put into download mode by its buttons", async (t) => {
		const board = plugIn(t, { hasNoResetLines: true });
		const { page } = await openView(t, board);
		await fillIn(page);
		await install(page);
		assert.match(
			await failure(page),
			/The board does not respond\.\s+Enter download mode manually: hold the BOOT/,
		);
		await board.pressBootAndReset();
		await install(page);
		await page.getByText("Ring stays dark:").waitFor();
		await board.pressReset();
		await joined(page);
	});

	test("the board does not connect because of a wrong password, which can be corrected", async (t) => {
		const board = plugIn(t);
		const { page } = await openView(t, board);
		await fillIn(page, { ...network, password: "wrong horse" });
		await install(page);
		await page.getByText("Waiting for it to connect…").waitFor();
		await page.clock.install();
		await page.clock.fastForward(61_000);
		await page
			.getByRole("alert")
			.getByText("No connection after 1 min. The most common cause is a wrong Wi-Fi password")
			.waitFor();
		await page.getByRole("button", { name: "Back to settings" }).click();
		assert.equal(await page.getByLabel("Wi-Fi name", { exact: true }).inputValue(), "home");
	});

	test("an ESP32-S3 put into download mode by BOOT needs a reset", async (t) => {
		const board = plugIn(t, { isNative: true });
		const { page } = await openView(t, board);
		await board.pressBootAndReset();
		await fillIn(page);
		await install(page);
		await page.getByText(`${deviceId} is installed. Press its reset button (EN or RST)`).waitFor();
		assert.equal(board.startedFrom, undefined);
		await board.pressReset();
		await joined(page);
	});

	test("the board has another chip", async (t) => {
		const board = plugIn(t, { chip: "ESP32-C6" });
		const { page } = await openView(t, board);
		await fillIn(page);
		await install(page);
		const said = await failure(page);
		assert.match(
			said,
			/Firmware for DEV-1 supports virtual devices, but this board has an ESP32-C6\. Nothing was written\./,
		);
		assert.ok(board.isFlashEmpty, "the flash was written");
	});

	test("the board's chip is unknown", async (t) => {
		const { page } = await openView(t, plugIn(t, { chip: "not known yet" }));
		await fillIn(page);
		await install(page);
		assert.match(
			await failure(page),
			/The firmware does not support the chip of this board\. Nothing was written\./,
		);
	});

	test("the board was unplugged, and is repaired by installing again", async (t) => {
		const board = plugIn(t);
		board.faults.lostAfterBlocks = 2;
		const { page } = await openView(t, board);
		await fillIn(page);
		await install(page);
		assert.match(await failure(page), /The board was unplugged.*\s+Plug it in and install again/);
		await install(page);
		await joined(page);
	});

	test("there are no settings to keep on the board", async (t) => {
		const board = plugIn(t);
		const { page } = await openView(t, board);
		await page.getByLabel("Keep the settings on the board").check();
		await install(page);
		assert.match(
			await failure(page),
			/partition table of this board differs, so its settings cannot be kept/,
		);
		assert.ok(board.isFlashEmpty, "the flash was written");
	});

	test("the gateway does not serve the firmware", async (t) => {
		const board = plugIn(t);
		const { page } = await openView(t, board, /503/);
		await page.route("**/flash.json", (route) => route.fulfill({ status: 503 }));
		await fillIn(page);
		await install(page);
		assert.match(await failure(page), /Firmware download failed: HTTP status 503\./);
		assert.ok(board.isFlashEmpty, "the flash was written");
	});
});

describe("explains missing Web Serial, and shows the command line:", { skip }, () => {
	for (const [name, isSecure, reason] of [
		["in a browser that lacks it", true, "This browser does not support Web Serial."],
		["on plain http from another computer", false, "Browsers allow access to USB ports only over https"],
	] as const)
		test(name, async (t) => {
			const { url } = await runFleet(t);
			const page = await open(t, url, { view: "#/add", prepare: withoutSerialPort(isSecure) });
			await page.getByText(reason).waitFor();
			const said = await page.locator("main").innerText();
			assert.doesNotMatch(said, /Chrome|Edge|Opera|Firefox|Safari/, "which browsers have it changes");
			const gateway = `${url.replace("http", "ws")}/device`;
			await page
				.getByText(`npm run flash -- dev-1 ssid=<name> password=<password> gateway=${gateway}`)
				.waitFor();
		});

	test("offers no board a release for virtual devices only", async (t) => {
		const { url, release } = await runFleet(t);
		await release("1.1.0", ...(await makeVirtualImages("1.1.0", 0)));
		const page = await open(t, url, { view: "#/add", prepare: withSerialPort(() => undefined) });
		await page.getByText("No release for DEV-1 boards yet.").waitFor();
		assert.equal(await page.getByRole("button", { name: "Install" }).isDisabled(), true);
		assert.equal(await page.getByText("1.1.0").count(), 0);
	});

	test("disables installation without a complete release, and explains how to make one", async (t) => {
		const { url, release } = await runFleet(t);
		await release("1.1.0", makeVirtualImage(Buffer.from("a program"), "DEV-1", "1.1.0"));
		const page = await open(t, url, { view: "#/add", prepare: withSerialPort(() => undefined) });
		await page.getByText("No release for DEV-1 boards yet.").waitFor();
		assert.equal(await page.getByRole("button", { name: "Install" }).isDisabled(), true);
	});
});
