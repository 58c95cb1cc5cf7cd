/**
 * The firmware's composition root: constructs the parts from the host's classes, wires them and starts them. Nothing happens at
 * module level, since modules are preloaded into ROM.
 */

import { Commands } from "./commands.js";
import type { Host } from "./host.js";
import { Clock } from "./network/clock.js";
import { type GatewayUrl, parseGatewayUrl } from "./network/gateway-url.js";
import { Link, type LinkState } from "./network/link.js";
import { LookupTicket } from "./network/lookup.js";
import { type WiFiState, WiFiStation } from "./network/wifi.js";
import { ledState } from "./peripherals/led-patterns.js";
import { createPeripherals } from "./peripherals/peripherals.js";
import { features } from "./protocol/messages.js";
import { onButton, showLink, showWiFi } from "./rules.js";
import { Settings } from "./settings.js";
import { readState } from "./state-report.js";
import { StateReporter } from "./state-reporter.js";
import type { FirmwareUrl } from "./update/firmware-url.js";
import { Probation } from "./update/probation.js";
import { type UpdateMessage, Updater } from "./update/updater.js";

/** Set by the host. The SDK's typing of it knows only pins and buses. */
declare const device: Host;

export default function main(): void {
	const { model, chip, network, storage } = device;
	const system = new device.system({});
	const deviceId = `${model.toLowerCase()}-${system.macAddress.slice(-8).replaceAll(":", "").toLowerCase()}`;
	const now = () => system.uptimeMs;
	const restart = () => {
		clock.store();
		settings.flush();
		system.restart();
	};
	// First: whatever fails below, an unconfirmed image is rolled back.
	const probation = new Probation({ boot: new device.update.boot({}), restart });
	const settings = new Settings({ part: storage.settings });
	const server = settings.text("sntp") || undefined;
	const clock = new Clock({ part: network.time, system, server, settings });
	const reporter = new StateReporter({
		read: () => readState({ deviceId, model, system, wifi, link, peripherals }),
		canSend: () => link.isDrained,
		send: (report) => {
			link.send(report);
			confirmImage();
		},
	});
	let retryNow = () => {};
	const peripherals = createPeripherals({
		parts: device.peripheral,
		settings,
		now,
		// Someone is waiting.
		onPressed: (name) => {
			retryNow();
			onButton(name, peripherals);
		},
		onChanged: () => reporter.changed(),
	});
	const { ring, audio } = peripherals;

	const ssid = settings.text("ssid");
	const url = gatewayUrl(settings.text("gateway"));
	if (ssid === "" || url === undefined) {
		trace("this device has no settings: flash it with ssid, password, gateway and token\n");
		ring.connection = ssid === "" ? ledState.wifiFailed : ledState.serverFailed;
		return;
	}
	const certificate = settings.text("ca") || undefined;
	const authorization = `Bearer ${settings.text("token")}`;
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
			["Authorization", authorization],
			["Device-Id", deviceId],
			["Device-Model", model],
			["Device-Chip", chip],
			["Device-Features", features.join(",")],
			["Protocol-Version", "1"],
		],
		onStateChanged: onLink,
		onMessage: (message) => commands.receive(message),
		onDrained: () => {
			reporter.flush();
			confirmImage();
		},
	});
	/** The end of an update while there was no connection. */
	let unsent: UpdateMessage | undefined;
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
		// The token is for the gateway only.
		headersFor: (firmware) => (isSameServer(firmware, url) ? [["authorization", authorization]] : []),
		send: (message) => {
			trace(`update: ${message.type === "ota_error" ? message.reason : message.type}\n`);
			if (link.state === "connected") link.send(message);
			else if (message.type !== "ota_progress") unsent = message;
		},
		log: (text) => system.print(text),
		onRunning: (isRunning) => {
			if (isRunning) audio.stop();
			ring.isUpdating = isRunning;
		},
		restart,
	});
	const commands = new Commands({
		deviceId,
		model,
		peripherals,
		onQuery: () => reporter.changed(),
		onUpdate: (command) => {
			if (updater.isRunning) return "an update is under way; wait until it has ended";
			if (probation.isOn) return "the firmware is new and not confirmed yet; try again in a minute";
			updater.start(command);
			return undefined;
		},
		send: (error) => link.send(error),
	});
	retryNow = () => {
		wifi.retryNow();
		link.retryNow();
	};
	wifi.start();

	function onWiFi(state: WiFiState): void {
		trace(`Wi-Fi ${state}\n`);
		if (state === "connected") {
			// In this order: names are resolved one after the other, and that of the time server may not exist.
			link.start();
			clock.start();
			return;
		}
		clock.stop();
		link.stop();
		showWiFi(state, ring);
	}

	function onLink(state: LinkState): void {
		trace(`gateway ${state}\n`);
		showLink(state, ring);
		if (state !== "connected") return reporter.stop();
		if (unsent) link.send(unsent);
		unsent = undefined;
		reporter.start();
		updater.resume();
	}

	function confirmImage(): void {
		if (reporter.hasReported && link.isDrained) probation.onReported(audio.isReady, settings);
	}
}

function gatewayUrl(text: string): GatewayUrl | undefined {
	try {
		return parseGatewayUrl(text);
	} catch (error) {
		trace(`${error}\n`);
		return undefined;
	}
}

function isSameServer(firmware: FirmwareUrl, gateway: GatewayUrl): boolean {
	const { isSecure, host, port } = gateway;
	return firmware.isSecure === isSecure && firmware.host === host && firmware.port === port;
}
