import { test } from "node:test";
import type { StateReport } from "../../device/protocol/messages.js";
import { call } from "../support/call.js";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";

test("a board in XS receives volume and brightness of the replaced board, which logs why it is rejected", async (t) => {
	const fleet = await runFleet(t);
	const broken = await fleet.powerOn("DEV-1", { serial: "00000a" });
	await broken.report();
	await broken.control({ command: "set_volume", value: 35 });
	await broken.control({ command: "set_brightness", value: 0.25 });
	const isSet = ({ peripherals: { audio, led_ring } }: StateReport) =>
		audio.volume === 35 && led_ring.brightness_coef === 0.25;
	await broken.report(isSet);
	await broken.device.close();
	const board = await fleet.powerOn("DEV-1", { serial: "00000b" });
	await board.report((report) => !isSet(report));
	await eventually(
		() => call(fleet.url, "POST", `devices/${broken.deviceId}/replace`, { by: board.deviceId }),
		() => true,
	);
	await board.report(isSet);
	let log = "";
	const onTrace = (text: string) => {
		log += text;
	};
	await fleet.powerOn("DEV-1", { serial: "00000a", onTrace });
	await eventually(
		() => log,
		(text) => text.includes("the gateway rejected this device (410): another one has replaced it"),
	);
});
