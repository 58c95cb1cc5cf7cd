/**
 * The firmware's composition root: constructs the parts from the host's classes, connects and starts them. Modules
 * are preloaded into ROM, so nothing happens at module level.
 */

import config from "mc/config";
import Timer from "timer";
import { Commands, type CommandTargets, executeCommand } from "./commands.js";
import { Diagnostics } from "./diagnostics.js";
import type { Host } from "./host.js";
import { Clock } from "./network/clock.js";
import { parseGatewayUrl } from "./network/gateway-url.js";
import { openHttp } from "./network/http-connection.js";
import { Link, type LinkState } from "./network/link.js";
import { LookupTicket } from "./network/lookup.js";
import type { Url } from "./network/url.js";
import { knownNetworks, type WiFiState, WiFiStation } from "./network/wifi.js";
import { ledState } from "./peripherals/led-patterns.js";
import { createPeripherals } from "./peripherals/peripherals.js";
import { features, type SoundUpdate } from "./protocol/messages.js";
import { idOf } from "./protocol/models.js";
import { Recovery } from "./recovery.js";
import { onButton, showLink, showWiFi } from "./rules.js";
import { Settings, storeBuiltInSettings } from "./settings.js";
import { eraseSettings, SettingsTrial } from "./settings-trial.js";
import { Sounds } from "./sound/sounds.js";
import { StartCount } from "./start-count.js";
import { readState } from "./state-report.js";
import { StateReporter } from "./state-reporter.js";
import { Probation } from "./update/probation.js";
import { type UpdateMessage, Updater } from "./update/updater.js";

const restartDelayMs = 500;

/** Set by the host. The SDK's typing of it knows only pins and buses. */
declare const device: Host;

export default function main(): void {
	const { model, chip, network, storage } = device;
	const system = new device.system({});
	const deviceId = idOf(model, system.macAddress);
	const now = () => system.uptimeMs;
	const restart = () => {
		startCount.onProven();
		clock.store();
		settings.flush();
		system.restart();
	};
	// First: if anything below fails, an unconfirmed image is rolled back.
	const probation = new Probation({ boot: new device.update.boot({}), restart });
	const store = new storage.settings({});
	// A confirmed one that fails starts in safe mode.
	const { resetReason } = system;
	const startCount = new StartCount({ store, resetReason, isPendingVerify: probation.isOn });
	const { isSafeMode } = startCount;
	storeBuiltInSettings(store, system.buildTime);
	const trial = new SettingsTrial({
		store,
		findObstacle: () => findObstacle(wifi, link),
		restart,
		log: (text) => trace(`settings: ${text}\n`),
		send: (result) => link.send({ type: "settings_result", deviceId, ...result }),
	});
	const settings = new Settings({ store, onTrial: (name) => trial.value(name) });
	const server = settings.text("sntp") || undefined;
	const clock = new Clock({ part: network.time, system, server, settings });
	const reporter = new StateReporter({
		read: () => readState({ deviceId, model, system, wifi, link, peripherals, isSafeMode }),
		canSend: () => link.isDrained,
		send: (report) => {
			link.send(report);
			onDrained();
		},
	});
	let retryNow = () => {};
	let undoPress: (() => void) | undefined;
	const peripherals = createPeripherals({
		parts: device.peripheral,
		settings,
		isSafeMode,
		now,
		onPressed: (name) => {
			// A person is waiting.
			retryNow();
			const isRecovery = recovery.onPressed(name);
			if (isRecovery) undoPress?.();
			undoPress = isRecovery ? undefined : onButton(name, peripherals);
		},
		onButtons: () => recovery.onChanged(peripherals.buttons.report),
		onChanged: () => reporter.changed(),
	});
	const { ring, audio } = peripherals;
	const recovery = new Recovery({
		ring,
		onErase: () => {
			trace("play and mute were held: all settings are erased\n");
			eraseSettings(store);
			startCount.onProven();
			system.restart();
		},
	});

	const gateway = settings.text("gateway");
	if (settings.text("ssid") === "" || gateway === "") {
		trace("this device has no settings: flash it with ssid, password, gateway and token\n");
		return ring.showUnprovisioned();
	}
	trace(`settings: network "${settings.text("ssid")}", gateway ${gateway}\n`);
	const url = gatewayUrl(gateway);
	if (url === undefined) {
		ring.connection = ledState.serverFailed;
		return;
	}
	const certificate = settings.text("ca") || undefined;
	const authorization = `Bearer ${settings.text("token")}`;
	const wifi = new WiFiStation({
		part: network.wifi,
		networks: knownNetworks(
			(name) => settings.text(name),
			(name) => trial.value(name) !== undefined,
		),
		isTrialOn: () => trial.isUndecided,
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
			onDrained();
		},
	});
	/** Ends of an update and of sounds while there was no connection. */
	const unsent: (UpdateMessage | SoundUpdate)[] = [];
	const createLookup = () => new LookupTicket(network.dns);
	// The token is for the gateway only.
	const headersFor = (address: Url): readonly (readonly [string, string])[] =>
		isSameServer(address, url) ? [["authorization", authorization]] : [];
	const updater = new Updater({
		network,
		certificate,
		createLookup,
		slot: device.update.slot,
		sha256: device.digest.sha256,
		chip,
		model,
		securityVersion: system.securityVersion,
		releaseKeys: String(config.release_keys ?? ""),
		now,
		isOnline: () => link.state === "connected",
		headersFor,
		send: (message) => {
			// Steps of progress would displace all else in a crash's trace and the live log.
			if (message.type !== "ota_progress")
				trace(`update: ${message.type === "ota_error" ? message.reason : message.type}\n`);
			if (link.state === "connected") link.send(message);
			else if (message.type !== "ota_progress") unsent.push(message);
		},
		log: (text) => system.print(text),
		onRunning: (isRunning) => {
			if (isRunning) {
				audio?.stop();
				sounds?.release();
			}
			ring.isUpdating = isRunning;
		},
		restart,
	});
	const sounds =
		audio &&
		new Sounds({
			audio,
			bufferBytes: device.soundBufferBytes,
			connect: (address, options) => openHttp(network, address, options, certificate),
			createLookup,
			headersFor,
			now,
			afterTurn: (action) => {
				Promise.resolve()
					.then(action)
					.catch((error: unknown) => trace(`sound: ${error}\n`));
			},
			send: (update) => {
				const message: SoundUpdate = { type: "sound_update", deviceId, ...update };
				const isEnd = update.state !== "ready" && update.state !== "playing";
				trace(`sound ${update.id}: ${update.state}${update.reason ? `, ${update.reason}` : ""}\n`);
				if (link.state === "connected") link.send(message);
				else if (isEnd) unsent.push(message);
			},
		});
	const diagnostics = new Diagnostics({
		deviceId,
		crash: new device.crash({}),
		trace: new device.trace({}),
		secrets: [
			settings.text("token"),
			settings.text("password"),
			settings.text("password2"),
			certificate ?? "",
		],
		now,
		canSend: () => link.isDrained,
		send: (message) => link.send(message),
	});
	const targets: CommandTargets = {
		peripherals,
		sounds,
		diagnostics,
		onQuery: () => reporter.changed(),
		onUpdate: (command) => {
			const busy = findWork();
			if (busy !== undefined) return busy;
			updater.start(command);
			return undefined;
		},
		// While an image is unconfirmed the boot loader would return to the previous one.
		onRestart: () => {
			const busy = findWork();
			if (busy === undefined) restartSoon();
			return busy;
		},
		onSettings: (changed) => {
			const busy = findWork();
			if (busy !== undefined) return { code: "busy", message: busy };
			const problem = trial.begin(changed);
			if (problem !== undefined) return { code: "invalid_value", message: `set_settings: ${problem}` };
			restartSoon();
			return undefined;
		},
	};
	const commands = new Commands({
		deviceId,
		model,
		execute: (command) => executeCommand(command, targets),
		send: (error) => link.send(error),
	});
	retryNow = () => {
		wifi.retryNow();
		link.retryNow();
	};
	wifi.start();

	function onWiFi(state: WiFiState): void {
		trace(
			`Wi-Fi ${state}${state === "connected" ? `: "${wifi.ssid}", ${wifi.address}, ${wifi.rssi} dBm` : ""}\n`,
		);
		if (state === "connected") {
			// In this order: names are resolved one after the other, and the time server may not exist.
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
		wifi.onGateway(state === "connected" || state === "refused");
		if (state !== "connected") {
			diagnostics.stopLog();
			trial.onLost();
			return reporter.stop();
		}
		startCount.onProven();
		for (const message of unsent) link.send(message);
		unsent.length = 0;
		reporter.start();
		updater.resume();
	}

	/** The close frame gets out before the restart. */
	function restartSoon(): void {
		sounds?.stop("restart");
		sounds?.flush();
		link.stop();
		Timer.set(restart, restartDelayMs);
	}

	/** @returns why no update, trial of settings or restart can start now */
	function findWork(): string | undefined {
		if (updater.isRunning) return "an update is under way; wait until it has ended";
		if (probation.isOn) return "the firmware is new and not confirmed yet; try again in a minute";
		if (trial.isOn) return "new settings are being tried; wait until that has ended, at most two minutes";
		return undefined;
	}

	/** All messages are sent. */
	function onDrained(): void {
		if (!reporter.hasReported || !link.isDrained) return;
		if (audio) probation.onReported(audio.isReady, settings);
		trial.onDrained();
	}
}

function gatewayUrl(text: string): Url | undefined {
	try {
		return parseGatewayUrl(text);
	} catch (error) {
		trace(`${error}\n`);
		return undefined;
	}
}

function findObstacle(wifi: WiFiStation, link: Link): string {
	if (wifi.state !== "connected") return wifi.problem ?? "no connection to the access point";
	if (link.state !== "connected") return link.problem ?? "the gateway did not answer";
	return "the gateway took no report";
}

function isSameServer(firmware: Url, gateway: Url): boolean {
	const { isSecure, host, port } = gateway;
	return firmware.isSecure === isSecure && firmware.host === host && firmware.port === port;
}
