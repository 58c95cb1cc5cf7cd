/**
 * The firmware's composition root: builds the parts from what the host supplies, wires them and starts them. Nothing
 * happens while a module loads, since modules are preloaded into ROM; all of it begins in the function that this exports.
 */

import { Commands } from "./commands.js";
import type { ButtonName, Host } from "./host.js";
import { Clock } from "./network/clock.js";
import { type GatewayUrl, parseGatewayUrl } from "./network/gateway-url.js";
import { Link, type LinkState } from "./network/link.js";
import { LookupTicket } from "./network/lookup.js";
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
import type { FirmwareUrl } from "./update/firmware-url.js";
import { Probation } from "./update/probation.js";
import { type UpdateMessage, Updater } from "./update/updater.js";

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
	const restart = () => {
		clock.store();
		settings.flush();
		system.restart();
	};
	// First of all: whatever fails below, a new image that does not prove itself gives way to the former one.
	const probation = new Probation({ boot: new device.update.boot({}), restart });
	const settings = new Settings({ part: storage.settings });
	const clock = new Clock({
		part: network.time,
		system,
		server: settings.text("sntp") || undefined,
		settings,
	});
	const deviceId = `${model.toLowerCase()}-${system.macAddress.slice(-8).replaceAll(":", "").toLowerCase()}`;
	const now = () => system.uptimeMs;

	const reporter = new StateReporter({
		read: readState,
		canSend: () => link.isDrained,
		send: (report) => {
			link.send(report);
			proveFirmware();
		},
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
		// Math.floor, since XS's Math.round returns subnormal numbers as they are.
		volume: Math.floor(settings.number("volume", 0, 100, 50)),
		audibleVolume: Math.floor(settings.number("audible", 1, 100, 50)),
		onChanged: () => {
			settings.remember("volume", audio.volume);
			settings.remember("audible", audio.audibleVolume);
			changed();
		},
	});
	const haptics =
		peripheral.haptics &&
		new Haptics({
			part: peripheral.haptics,
			onChanged: changed,
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
		trace("this device has no settings: flash it with ssid, password, gateway and token\n");
		ring.connection = ssid === "" ? ledState.wifiFailed : ledState.serverFailed;
		return;
	}

	const certificate = settings.text("ca") || undefined;
	const wifi = new WiFiStation({
		part: network.wifi,
		ssid,
		password: settings.text("password"),
		hostname: deviceId,
		onStateChanged: onWiFi,
	});
	const link = new Link({
		network,
		url,
		certificate,
		headers: [
			["Authorization", `Bearer ${settings.text("token")}`],
			["Device-Id", deviceId],
			["Device-Model", model],
			["Device-Chip", chip],
			["Protocol-Version", "1"],
		],
		onStateChanged: onLink,
		onMessage: (message) => commands.receive(message),
		onDrained: () => {
			reporter.flush();
			proveFirmware();
		},
	});
	const updater = new Updater({
		network,
		certificate,
		createLookup: () => new LookupTicket(network.dns),
		slot: device.update.slot,
		sha256: device.digest.sha256,
		chip,
		model,
		now,
		isOnline: () => link.state === "connected",
		headersFor: credentialsFor,
		send: sendOfUpdate,
		log: (text) => system.print(text),
		onRunning: (isRunning) => {
			if (isRunning) audio.stop();
			ring.isUpdating = isRunning;
		},
		restart,
	});
	/** How an update ended while there was no connection. */
	let unsent: UpdateMessage | undefined;
	const commands = new Commands({
		deviceId,
		model,
		audio,
		ring,
		haptics,
		onQuery: changed,
		onUpdate: (command) => {
			if (updater.isRunning) return "an update is under way; wait until it has ended";
			if (probation.isOn) return "the firmware is new and not confirmed yet; try again in a minute";
			updater.start(command);
			return undefined;
		},
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
			// In this order: names are looked up one after the other, and a time server's may not be found at all.
			link.start();
			clock.start();
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
			if (unsent) link.send(unsent);
			unsent = undefined;
			reporter.start();
			updater.resume();
			return;
		}
		reporter.stop();
		if (state === "connecting") ring.connection = ledState.serverConnecting;
		if (state === "failed") ring.connection = ledState.serverFailed;
	}

	function proveFirmware(): void {
		if (reporter.hasReported && link.isDrained) probation.onReported(audio.isReady, settings);
	}

	/** The gateway gives its firmware to devices with the token; nobody else is shown it. */
	function credentialsFor({ isSecure, host, port }: FirmwareUrl): readonly (readonly [string, string])[] {
		const isGateway = url?.isSecure === isSecure && url.host === host && url.port === port;
		return isGateway ? [["authorization", `Bearer ${settings.text("token")}`]] : [];
	}

	function sendOfUpdate(message: UpdateMessage): void {
		trace(`update: ${message.type === "ota_error" ? message.reason : message.type}\n`);
		if (link.state === "connected") link.send(message);
		else if (message.type !== "ota_progress") unsent = message;
	}

	function onPressed(name: ButtonName): void {
		hurry();
		if (name === "play" && !ring.isUpdating) audio.toggle();
		if (name === "mute") audio.toggleMute();
		if (name === "volumeUp") audio.changeVolume(volumeStep);
		if (name === "volumeDown") audio.changeVolume(-volumeStep);
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
