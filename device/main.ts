/**
 * The firmware's composition root: builds the parts from what the host supplies, wires them and starts them. Nothing
 * happens while a module loads, since modules are preloaded into ROM; all of it begins in the function that this exports.
 */

import { Commands } from "./commands.js";
import type { ButtonName, Host } from "./host.js";
import { Clock } from "./network/clock.js";
import { type GatewayUrl, parseGatewayUrl } from "./network/gateway-url.js";
import { Link, type LinkState } from "./network/link.js";
import { type WiFiState, WiFiStation } from "./network/wifi.js";
import { AmbientLight } from "./peripherals/ambient-light.js";
import { Audio } from "./peripherals/audio.js";
import { Buttons } from "./peripherals/buttons.js";
import { Haptics } from "./peripherals/haptics.js";
import { ledState } from "./peripherals/led-patterns.js";
import { LedRing } from "./peripherals/led-ring.js";
import { Touch } from "./peripherals/touch.js";
import type { StateReport } from "./protocol/messages.js";
import { Settings } from "./settings.js";
import { StateReporter } from "./state-report.js";

/** What the host put there; declared here because the SDK's own typing of it knows only pins and buses. */
declare const device: Host;

const volumeStep = 5;

function gatewayUrl(text: string): GatewayUrl | undefined {
	try {
		return parseGatewayUrl(text);
	} catch (error) {
		trace(`${error}\n`);
		return undefined;
	}
}

export default function main(): void {
	const { model, chip, network, peripheral, storage } = device;
	const system = new device.system({});
	const settings = new Settings({ part: storage.settings });
	const deviceId = `${model.toLowerCase()}-${system.macAddress.slice(-8).replaceAll(":", "").toLowerCase()}`;
	const now = () => system.uptimeMs;

	const reporter = new StateReporter({
		read: readState,
		canSend: () => link.isDrained,
		send: (report) => link.send(report),
	});
	const changed = () => reporter.changed();

	const ring = new LedRing({
		part: peripheral.ledRing,
		now,
		brightness: settings.number("brightness", 0, 1, 0.5),
		onChanged: () => {
			settings.remember("brightness", ring.brightness);
			changed();
		},
	});
	const audio = new Audio({
		output: peripheral.audioOutput,
		codec: peripheral.codec,
		now,
		volume: Math.round(settings.number("volume", 0, 100, 50)),
		onChanged: () => {
			settings.remember("volume", audio.volume);
			changed();
		},
	});
	const haptics =
		peripheral.haptics &&
		new Haptics({
			part: peripheral.haptics,
			intensity: Math.round(settings.number("haptics", 0, 100, 0)),
			onChanged: () => {
				if (haptics) settings.remember("haptics", haptics.intensity);
				changed();
			},
		});
	const light = peripheral.ambientLight && new AmbientLight({ part: peripheral.ambientLight });
	const touch =
		peripheral.touch &&
		new Touch({
			part: peripheral.touch,
			onChanged: (isActive) => {
				if (isActive) haptics?.pulse();
				changed();
			},
		});
	/** Somebody waits: what is not connected tries at once, where it has been told what to connect to. */
	let hurry = () => {};
	const buttons = new Buttons({ parts: peripheral.button, onPressed, onChanged: changed });

	const ssid = settings.text("ssid");
	const url = gatewayUrl(settings.text("gateway"));
	if (ssid === "" || url === undefined) {
		trace("set ssid, password, gateway and token on mcconfig's command line\n");
		ring.connection = ssid === "" ? ledState.wifiFailed : ledState.serverFailed;
		return;
	}

	const clock = new Clock({ part: network.time, system });
	const wifi = new WiFiStation({
		part: network.wifi,
		ssid,
		password: settings.text("password"),
		onStateChanged: onWiFi,
	});
	const link = new Link({
		network,
		url,
		headers: [
			["Authorization", `Bearer ${settings.text("token")}`],
			["Device-Id", deviceId],
			["Device-Model", model],
			["Device-Chip", chip],
			["Protocol-Version", "1"],
		],
		onStateChanged: onLink,
		onMessage: (message) => commands.receive(message),
		onDrained: () => reporter.flush(),
	});
	const commands = new Commands({
		deviceId,
		model,
		audio,
		ring,
		haptics,
		onQuery: changed,
		send: (error) => link.send(error),
	});
	hurry = () => {
		wifi.hurry();
		link.hurry();
	};
	wifi.start();

	function onWiFi(state: WiFiState): void {
		trace(`Wi-Fi ${state}\n`);
		if (state === "connected") {
			clock.start();
			link.start();
			return;
		}
		clock.stop();
		link.stop();
		ring.connection = state === "failed" ? ledState.wifiFailed : ledState.wifiConnecting;
	}

	function onLink(state: LinkState): void {
		trace(`gateway ${state}\n`);
		if (state === "connected") {
			ring.connection = ledState.connected;
			reporter.start();
			return;
		}
		reporter.stop();
		if (state === "connecting") ring.connection = ledState.serverConnecting;
		if (state === "failed") ring.connection = ledState.serverFailed;
	}

	function onPressed(name: ButtonName): void {
		hurry();
		if (name === "play") audio.toggle();
		if (name === "mute") audio.toggleMute();
		if (name === "volumeUp") audio.volume = Math.min(100, audio.volume + volumeStep);
		if (name === "volumeDown") audio.volume = Math.max(0, audio.volume - volumeStep);
	}

	function readState(): StateReport {
		return {
			type: "state_report",
			deviceId,
			timestamp: new Date().toISOString(),
			system: {
				mac_address: system.macAddress,
				model,
				firmware_version: system.firmwareVersion,
				idf_version: system.idfVersion,
				cpu_freq_mhz: system.cpuFrequencyMHz,
				flash_size_mb: system.flashSizeMB,
				psram_size_mb: system.psramSizeMB,
			},
			health: {
				uptime_seconds: Math.floor(system.uptimeMs / 1000),
				free_heap_bytes: system.freeHeapBytes,
				min_free_heap_bytes: system.minFreeHeapBytes,
				reset_reason: system.resetReason,
			},
			network: {
				wifi_connected: wifi.state === "connected",
				wifi_ssid: wifi.ssid,
				wifi_rssi: wifi.rssi,
				ip_address: wifi.address,
				websocket_connected: link.state === "connected",
			},
			peripherals: {
				audio: audio.report,
				led_ring: ring.report,
				buttons: buttons.report,
				...(haptics && { haptic_intensity: haptics.intensity }),
				...(light && { ambient_light: light.level }),
				...(touch && { touch_active: touch.isActive }),
			},
		};
	}
}
