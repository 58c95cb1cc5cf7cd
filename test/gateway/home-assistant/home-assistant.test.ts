/** Discovery, states and commands of Home Assistant. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { features } from "../../../device/protocol/messages.js";
import type { QuietHours } from "../../../gateway/api/quiet-hours.js";
import { packageVersion } from "../../../scripts/command-line/project.js";
import { inheritedNames } from "../../support/arbitraries.js";
import { call } from "../../support/call.js";
import { needs } from "../../support/extensions.js";
import { platforms } from "../../support/home-assistant/schemas.js";
import { tone, wav } from "../../support/sounds.js";
import { dev, proto, startHome, voice } from "./start-home.js";

test("publishes each device with entities, states and name, and nothing unchanged again", async (t) => {
	const { home, add, ready } = await startHome(t);
	const device = await add(dev);
	await add(proto);
	await ready(dev, proto);
	const used = [...home.devices.values()].flatMap(({ components }) =>
		Object.values(components).map(({ platform }) => platform),
	);
	// The only text entities are those of quiet hours if there is no text-to-speech.
	const absent = ["notify", ...(existsSync("gateway/schedules") ? [] : ["text"])];
	const expected = Object.keys(platforms).filter((name) => !absent.includes(name));
	assert.deepEqual([...new Set(used)].sort(), expected.sort());
	const keys = (id: string) => Object.keys(home.devices.get(id)?.components ?? {});
	const own = keys(proto).filter((key) => !keys(dev).includes(key));
	assert.deepEqual(own, ["auto_brightness", "haptics", "touch", "light"]);
	device.report({ "peripherals.audio.volume": 31, "peripherals.led_ring.brightness_coef": 0.5 });
	await home.shows(dev, "volume", "31");
	await home.until(() => home.find(dev, "ring").brightness === 128);
	assert.equal(home.state(dev, "ring"), "ON");
	assert.equal(JSON.parse(home.state(dev, "firmware") ?? "").latest_version, "1.4.0");
	await home.until(() => home.state(proto, "firmware") !== undefined);
	const until = home.heard.length;
	for (let index = 0; index < 5; index++) device.report();
	device.report({ "peripherals.audio.volume": 32 });
	await home.shows(dev, "volume", "32");
	const topics = home.heard.slice(until).map(({ topic }) => topic);
	assert.deepEqual(topics, [`device-gateway/hall/${dev}/state`]);
});

test("publishes the gateway as parent device, and devices with vendor and MAC address", async (t) => {
	const { home, add, run, gateway, ready } = await startHome(t);
	await add(dev, { version: "v1.4.0", report: { "system.mac_address": "A0:B7:65:A1:B2:C3" } });
	await add(proto);
	await ready(dev, proto);
	const base = "device-gateway/hall";
	const { connections, via_device: through, manufacturer } = home.devices.get(dev)?.device ?? {};
	const vendor = [[["mac", "A0:B7:65:A1:B2:C3"]], base, "device-gateway"];
	assert.deepEqual([connections, through, manufacturer], vendor);
	assert.equal(home.devices.get(proto)?.device.connections, undefined, "simulated devices may have the same");
	const update = () => JSON.parse(home.state(dev, "firmware") ?? "{}");
	await home.until(() => update().installed_version === "v1.4.0");
	assert.equal(update().latest_version, "v1.4.0", "the same version in another notation");
	assert.equal(home.state(base, "status"), "online");
	const { origin, device: gatewayDevice } = home.devices.get(base) ?? {};
	assert.deepEqual(origin, { name: "device-gateway", sw_version: packageVersion() });
	assert.equal(gatewayDevice?.sw_version, packageVersion());
	const firstOf = (ending: string) => home.heard.findIndex(({ topic }) => topic.endsWith(ending));
	const order = [firstOf("/device-gateway/hall/config"), firstOf(`/${dev}/config`)] as const;
	assert.ok(order[0] < order[1], "before it is referred to");
	const optional = Object.entries(home.devices.get(proto)?.components ?? {})
		.filter(([, { enabled_by_default: isEnabled }]) => isEnabled === false)
		.map(([key]) => key);
	assert.deepEqual(optional, ["progress", "memory", "reset_reason"]);
	await gateway.close();
	await home.shows(base, "status", "offline");
	await run({ publicUrl: new URL("https://devices.example/hall/") });
	await home.shows(base, "status", "online");
	const url = "https://devices.example/hall";
	const { origin: named, device: linked } = home.devices.get(base) ?? {};
	assert.deepEqual([named?.support_url, linked?.configuration_url], [url, url]);
	assert.equal(home.devices.get(proto)?.device.configuration_url, `${url}/#/devices/${proto}`);
});

test("plays a stored sound as a tone with volume and duration", needs("announcements"), async (t) => {
	const { home, add, url, lines, ready } = await startHome(t);
	const device = await add(dev);
	await ready(dev);
	await call(url, "POST", "sounds?name=Gong", wav(tone(3200)));
	const tones = () => JSON.stringify(home.devices.get(dev)?.components.siren);
	await home.until(() => tones().includes("Gong"));
	await home.command(dev, "siren", '{"state":"ON","tone":"Gong","volume_level":0.5,"duration":1}');
	await home.until(() => device.commands.at(-2)?.command === "play_sound");
	const [played, stopped] = device.commands.slice(-2).map(({ value }) => Object(value));
	assert.match(played.url, /^http:.*\/sounds\/[0-9a-f]{64}\.wav$/);
	assert.equal(played.volume, 50);
	assert.deepEqual(stopped, { id: played.id }, "the sound ends after its duration");
	for (const options of ['"volume_level":9', '"duration":"x"', '"duration":{}'])
		await home.command(dev, "siren", `{"state":"ON","tone":"Gong",${options}}`);
	await home.until(() => lines.length === 3);
	assert.equal(device.commands.length, 2);
	await home.command(dev, "siren", '{"state":"ON","tone":"Gong","duration":3600}');
	await home.until(() => device.commands.length === 3);
	assert.equal(device.commands.at(-1)?.command, "play_sound", "it is stopped by its end alone");
});

test("delivers commands of the UI, and rejects invalid payloads", async (t) => {
	const { home, add, lines, changes, ready, set } = await startHome(t);
	const device = await add(proto);
	await ready(proto);
	const light = (value: object | null) => ({ command: "set_light", value });
	const sends = async (rows: readonly (readonly [key: string, payload: string, command: object])[]) => {
		for (const [key, payload, command] of rows) {
			await set(proto, key, payload);
			await device.receives({ ...command });
		}
	};
	await sends([
		["volume", "30", { command: "set_volume", value: 30 }],
		["brightness", "40", { command: "set_brightness", value: 0.4 }],
	]);
	await home.until(() => home.find(proto, "ring").brightness === 102);
	await sends([["effect", "rainbow", { command: "set_led", value: "rainbow" }]]);
	await home.turnOn(proto, { rgb: [255, 136, 0], effect: "breathe" });
	await device.receives(light({ color: [255, 136, 0], effect: "breathe" }));
	const solid = light({ color: [255, 136, 0], effect: "solid" });
	assert.deepEqual(device.commands.at(-3), solid, "color, brightness and effect come one by one");
	device.report({ "peripherals.led_ring.light": { color: "#ff8800", effect: "breathe" } });
	await home.until(() => home.state(proto, "ring", "rgb_state") === "255,136,0");
	assert.equal(home.state(proto, "ring", "effect_state"), "breathe");
	const startup = { command: "play_audio", value: "startup" };
	await sends([
		["progress", "40", light({ color: [255, 136, 0], effect: "progress", progress: 0.4 })],
		["effect", "off", light(null)],
		["color", "1,2,3", light({ color: [1, 2, 3], effect: "solid" })],
		["auto_brightness", "ON", { command: "set_auto_brightness", value: true }],
		["auto_brightness", "OFF", { command: "set_auto_brightness", value: false }],
		["mute", "ON", { command: "set_mute", value: true }],
	]);
	device.report({ "peripherals.audio.muted": true, "peripherals.audio.unmuted_volume": 30 });
	await home.until(() => home.state(proto, "mute") === "ON");
	await sends([
		["mute", "OFF", { command: "set_mute", value: false }],
		["haptics", "70", { command: "set_haptics", value: 70 }],
		["siren", '{"state":"ON","tone":"startup"}', startup],
		[
			...(["siren", '{"state":"ON","tone":"wifi_connected","volume_level":0.5,"duration":300}'] as const),
			{ command: "play_audio", value: "wifi_connected" },
		],
		["siren", '{"state":"ON","volume_level":1}', startup],
		["siren", '{"state":"OFF","note":"hush-hush"}', { command: "stop_sound" }],
		["volume", "33.5", { command: "set_volume", value: 34 }],
		["haptics", "70.4", { command: "set_haptics", value: 70 }],
		["brightness", "0.4", { command: "set_brightness", value: 0.01 }],
	]);
	device.report({ "peripherals.led_ring.brightness_coef": 0.004 });
	await home.until(() => home.find(proto, "ring").brightness === 3);
	assert.equal(home.state(proto, "ring"), "ON");
	await sends([["identify", "PRESS", { command: "identify" }]]);

	const [{ person, deviceId, what, after } = assert.fail("no change")] = changes;
	const change = ["Home Assistant", proto, "set_volume", { value: 30 }];
	assert.deepEqual([person.name, deviceId, what, after], change);
	assert.doesNotMatch(JSON.stringify(changes), /hush-hush/, "a field that no entity defines");
	const before = [device.commands.length, changes.length];
	const hostile = [
		["volume", "101"],
		["volume", ""],
		["volume", '{"__proto__":1}'],
		["brightness", "NaN"],
		["ring", "ON"],
		["effect", "disco"],
		["effect", "constructor"],
		["color", "255,136"],
		["color", "256,0,0"],
		["color", "orange"],
		["progress", "101"],
		["auto_brightness", "maybe"],
		["siren", '{"state":"ON","tone":"__proto__"}'],
		["siren", '{"state":"ON","tone":{"toString":null}}'],
		["siren", "[".repeat(30_000)],
		["siren", `{"state":"ON","tone":${"[".repeat(20_000)}${"]".repeat(20_000)}}`],
		["restart", "\u0000"],
		["firmware", "1.0.0"],
	] as const;
	for (const [key, payload] of hostile) await set(proto, key, payload);
	for (const name of inheritedNames) await set(proto, name, "x");
	for (const name of inheritedNames) await set(name, "volume", "30");
	const expected = [
		...hostile.map(([key]) => `${key} invalid_command`),
		...inheritedNames.map((name) => `${name} unsupported_command`),
		...inheritedNames.map(() => "volume unknown_target"),
	];
	await home.until(() => lines.length >= expected.length);
	// Entities are independent, and an update is rejected only after the firmware is looked up.
	assert.deepEqual(lines.map(({ entity, code }) => `${entity} ${code}`).sort(), expected.sort());
	assert.deepEqual([device.commands.length, changes.length], before);
	await home.command(proto, "restart", "PRESS");
	await home.shows(proto, "reset_reason", "SW_RESET");
});

test("queues the latest command of each entity above the rate, and counts the others", async (t) => {
	let time = 0;
	const { home, add, metrics, lines, replaced, ready, set } = await startHome(t, { monotonic: () => time });
	const device = await add(dev);
	const other = await add(proto);
	await ready(dev, proto);
	await set(dev, "effect", "idle");
	for (let volume = 1; volume <= 100; volume++) await home.command(dev, "volume", String(volume));
	await set(dev, "effect", "rainbow");
	await home.command(proto, "volume", "7");
	await other.receives({ command: "set_volume", value: 7 });
	const values = () => device.commands.map(({ value }) => value);
	const first = ["idle", ...Array.from({ length: 19 }, (_, index) => index + 1)];
	await home.until(() => values().length === first.length);
	assert.deepEqual(values(), first);
	assert.deepEqual(replaced, []);
	time += 60_000;
	await home.until(() => replaced.length > 0 && values().length === first.length + 2);
	assert.deepEqual(values(), [...first, 100, "rainbow"]);
	assert.deepEqual([replaced, lines], [[80], []]);
	assert.match(await metrics(), /gateway_rejected_commands_total\{code="rate_limited"\} 80\n/);
});

test("restores the brightness of a light across restarts", async (t) => {
	const { home, add, run, gateway, ready } = await startHome(t);
	const device = await add(dev);
	await ready(dev);
	await home.turnOn(dev, { brightness: 105 });
	await device.receives({ command: "set_brightness", value: 0.41 });
	await home.until(() => home.find(dev, "ring").brightness === 105);
	await home.command(dev, "ring", "OFF");
	await home.shows(dev, "ring", "OFF");
	await gateway.close();
	const { url } = await run();
	const later = await add(dev, { url, report: { "peripherals.led_ring.brightness_coef": 0 } });
	await home.restart();
	await ready(dev);
	await home.shows(dev, "ring", "OFF");
	await home.turnOn(dev);
	await later.receives({ command: "set_brightness", value: 0.41 });
	await home.shows(dev, "ring", "ON");
});

test("republishes a lost retained message", async (t) => {
	const { home, add, ready } = await startHome(t);
	const device = await add(dev);
	await ready(dev);
	for (const topic of [
		`homeassistant/device/${dev}/config`,
		`device-gateway/hall/${dev}/state`,
		`device-gateway/hall/${dev}/availability`,
		"device-gateway/hall/status",
	]) {
		const from = home.heard.length;
		const payloads = () =>
			home.heard.slice(from).flatMap((message) => (message.topic === topic ? message.payload : []));
		await home.publish(topic, "", true);
		const vanishes = home.until(() => payloads()[0] === "");
		await (topic.endsWith("/state") ? assert.rejects(vanishes, /value_json is undefined/) : vanishes);
		device.report();
		await home.until(() => payloads().some(Boolean) && home.isAvailable(dev));
	}
});

test("publishes devices under a gateway's new name at their next report", needs("fleet"), async (t) => {
	const { home, add, gateway, run, ready } = await startHome(t);
	await add(dev);
	await ready(dev);
	await gateway.close();
	const { url } = await run({ gatewayName: "The lobby" });
	const device = await add(dev, { url });
	await ready(dev);
	assert.equal(home.devices.get(dev)?.device.via_device, "device-gateway/The%20lobby");
	await home.command(dev, "volume", "5");
	await device.receives({ command: "set_volume", value: 5 });
});

test("offers and installs an update, unless a rollout holds the device", needs("rollouts"), async (t) => {
	const { home, add, url, lines } = await startHome(t);
	const device = await add(dev, { ending: "waits" });
	const update = () => JSON.parse(home.state(dev, "firmware") ?? "{}");
	await home.until(() => update().latest_version === "1.4.0");
	const groups = [{ size: "rest", soakSeconds: 0 }];
	const plan = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" }, groups };
	await call(url, "PUT", "rollouts/one", plan);
	await device.offered;
	await home.until(() => update().in_progress === true);
	device.progress(50);
	await home.until(() => update().update_percentage === 50);
	await home.command(dev, "firmware", "install");
	await home.until(() => lines.some(({ entity }) => entity === "firmware"));
	await device.finish("fails");
	await home.until(() => update().in_progress === false);
});

test("publishes button presses once as events that are not retained", async (t) => {
	const { home, add, monotonic, ready } = await startHome(t);
	const device = await add(dev);
	await ready(dev);
	const play = "peripherals.buttons.btn_play";
	const presses = () => home.heard.filter(({ topic }) => topic === `device-gateway/hall/${dev}/btn_play`);
	for (const isDown of [true, true, false, true, false]) device.report({ [play]: isDown });
	device.report({ "peripherals.audio.volume": 98 });
	await home.shows(dev, "volume", "98");
	assert.equal(presses().length, 2, "a button that is held is pressed once");
	for (const { payload } of presses()) assert.deepEqual(JSON.parse(payload), { event_type: "press_start" });
	// Rate limit, far above human use: 10 at once, then one a second.
	const began = monotonic();
	for (let count = 0; count < 40; count++)
		for (const isDown of [true, false]) device.report({ [play]: isDown });
	device.report({ "peripherals.audio.volume": 99 });
	await home.shows(dev, "volume", "99");
	const most = 2 + 10 + Math.ceil((monotonic() - began) / 1000);
	assert.ok(presses().length >= 10 && presses().length <= most, `${presses().length} presses of ${most}`);
});

test("publishes a crash as an event with its type", needs("fleet"), async (t) => {
	const { home, add, ready } = await startHome(t);
	const stack = "at onPress (device/rules.ts:41)";
	const firmware = { firmware_version: "1.2.3", uptime_seconds: 5, trace: "" };
	const crash = { id: "0a1b", kind: "exception" as const, message: "TypeError", stack, ...firmware };
	// Home Assistant subscribes after discovery; earlier events are not retained.
	const before = await add(proto);
	await ready(proto);
	before.close();
	const device = await add(proto, { crash });
	await home.until(() => home.count(/\/crash$/) === 1);
	const { payload = "" } = home.heard.find(({ topic }) => topic.endsWith("/crash")) ?? {};
	assert.deepEqual(JSON.parse(payload), { event_type: "exception" });
	assert.ok(device.isConnected, "the device disconnected");
});

const ofSounds = needs("announcements");
test("speaks texts, even urgently, and publishes announcement results as events", ofSounds, async (t) => {
	const { home, add, ready } = await startHome(t, await voice(t));
	const device = await add(dev);
	await add(proto);
	await ready(dev, proto);
	const eventsOf = (id: string) =>
		home.heard.flatMap(({ topic, payload }) =>
			topic === `device-gateway/hall/${id}/announcement` ? JSON.parse(payload) : [],
		);
	const asked = new Map<string, { readonly id: string; readonly priority: string }>();
	const becomes = async (name: string, state: string, reason: string | null = null) => {
		const { id } = asked.get(name) ?? assert.fail(name);
		const from = eventsOf(dev).length;
		device.send({ type: "sound_update", deviceId: dev, id, state, ...(reason !== null && { reason }) });
		const event = { event_type: state, id, name, reason };
		await home.until(() =>
			eventsOf(dev)
				.slice(from)
				.some((occurred) => isDeepStrictEqual(occurred, event)),
		);
	};
	const speak = async (entity: string, text: string) => {
		const count = device.commands.length;
		await home.command(dev, entity, text);
		await home.until(() => device.commands.length > count);
		asked.set(text, Object(device.commands.at(-1)?.value));
	};
	await speak("speech", "Dinner is ready");
	await becomes("Dinner is ready", "playing");
	await speak("urgent_speech", "The door is open");
	const priorities = [...asked.values()].map(({ priority }) => priority);
	assert.deepEqual(priorities, ["normal", "urgent"]);
	await becomes("Dinner is ready", "waiting");
	for (const state of ["playing", "played"]) await becomes("The door is open", state);
	await becomes("Dinner is ready", "resumed");
	await becomes("Dinner is ready", "stopped", "button");
	const count = eventsOf(dev).length;
	device.close();
	await home.until(() => !home.isAvailable(dev));
	assert.equal(eventsOf(dev).length, count, "of what has ended there are no more");
	assert.deepEqual(eventsOf(proto), []);
});

const ofSchedules = needs("schedules");
test("publishes the effective quiet hours of a device as a switch and two times", ofSchedules, async (t) => {
	const { home, add, lines, changes, url, ready, set } = await startHome(t);
	const device = await add(dev);
	await add(proto, { features: features.filter((name) => name !== "quiet") });
	await ready(dev, proto);
	assert.equal(home.devices.get(proto)?.components.quiet, undefined, "not supported by its firmware");
	const states = () => ["quiet", "quiet_from", "quiet_until"].map((key) => home.state(dev, key)).join();
	const shows = (expected: string) => home.until(() => states() === expected);
	const kept = async () => {
		const { quietHours }: { quietHours: readonly QuietHours[] } = await call(url, "GET", "quiet-hours");
		return quietHours.find(({ targets }) => targets.device === dev) ?? assert.fail("none of the device");
	};
	await shows("OFF,22:00,07:00");
	const house = { targets: { all: true }, from: "21:00", until: "06:00", days: ["sun"], onlyUrgent: true };
	await call(url, "PUT", "quiet-hours", house);
	await shows("ON,21:00,06:00");
	await home.command(dev, "quiet", "OFF");
	await shows("OFF,21:00,06:00");
	await home.command(dev, "quiet_from", "23:30");
	await home.command(dev, "quiet_until", "05:15");
	await home.command(dev, "quiet", "ON");
	await shows("ON,23:30,05:15");
	const { days, onlyUrgent, by, targets } = await kept();
	assert.deepEqual([days, onlyUrgent, by, targets], [["sun"], true, null, { device: dev }]);
	await home.until(() =>
		changes.some(({ what, person: { name } }) => `${name} ${what}` === "Home Assistant PUT /api/quiet-hours"),
	);
	await home.until(() =>
		device.commands.some(({ command, value }) => command === "set_quiet" && value !== null),
	);

	const wrong = [
		["quiet", "maybe"],
		["quiet_from", "24:00"],
		["quiet_until", ""],
		["quiet_until", "05:1"],
	] as const;
	for (const [key, payload] of wrong) await set(dev, key, payload);
	await home.until(() => lines.length === wrong.length);
	const said = lines.map(({ entity, code }) => `${entity} ${code}`).join();
	assert.equal(said, wrong.map(([key]) => `${key} invalid_command`).join());
	assert.match(String(lines[1]?.problem), /from must be a time of day such as 22:00/);
	const { on, from, until } = await kept();
	assert.deepEqual([on, from, until], [true, "23:30", "05:15"]);
	await shows("ON,23:30,05:15");
});

test("publishes at most once a second per entity, ending with the latest state", async (t) => {
	const { home, add, monotonic, ready } = await startHome(t);
	const device = await add(dev);
	await ready(dev);
	const states = () => home.count(/\/state$/);
	const [before, from] = [states(), monotonic()];
	for (let volume = 0; volume <= 100; volume++) device.report({ "peripherals.audio.volume": volume });
	await home.shows(dev, "volume", "100");
	// One immediately, one each second, and one in flight.
	const [count, seconds] = [states() - before, (monotonic() - from) / 1000];
	assert.ok(count <= seconds + 2, `${count} in ${seconds} s`);
});

test("restores the current state after an outage of the broker or gateway", async (t) => {
	const { home, add, broker, run, gateway, lines, ready, set } = await startHome(t);
	const device = await add(dev);
	await add(proto);
	await ready(dev, proto);
	await broker.kill();
	device.report({ "peripherals.audio.volume": 77 });
	await broker.start();
	await home.shows(dev, "volume", "77");
	await ready(dev, proto);
	await home.publish(`homeassistant/device/dev-1-gone/config`, "", true);
	await home.publish(`device-gateway/hall/dev-1-gone/availability`, "online", true);
	await home.publish(`device-gateway/another/dev-1-of-another/availability`, "online", true);
	await gateway.close();
	await home.until(() => !home.isAvailable(dev) && !home.isAvailable(proto));
	await set(dev, "restart", "PRESS", true);
	const { url } = await run();
	await home.until(() => home.topics.includes("device-gateway/hall/status"));
	await home.until(() => !home.topics.some((topic) => topic.includes("dev-1-gone")));
	const others = home.topics.filter((topic) => topic.includes("dev-1-of-another"));
	assert.equal(others.length, 1, "of a gateway of another house");
	assert.ok(!home.isAvailable(dev), "it has not connected again");
	await home.until(() => lines.length === 1);
	assert.match(String(lines[0]?.problem), /retained/, "it would be executed at each connection");
	await add(dev, { url });
	await ready(dev);
	assert.ok(!home.isAvailable(proto), `${proto} is available`);
});
