/** Firmware of one start: creates the core services and the components, and passes lifecycle events to the components. */

import Timer from "timer";
import { storeBuiltInSettings } from "./built-in-settings.js";
import { Commands } from "./commands.js";
import type { Component } from "./component.js";
import type { ButtonName, Host, KeyValueStore, System } from "./host.js";
import { Improv } from "./improv/improv.js";
import { Clock } from "./network/clock.js";
import { Gateway } from "./network/gateway.js";
import { parseGatewayUrl } from "./network/gateway-url.js";
import type { LinkState } from "./network/link.js";
import type { Url } from "./network/url.js";
import { ledState } from "./peripherals/led-patterns.js";
import { createPeripherals, type Peripherals } from "./peripherals/peripherals.js";
import { type Feature, features } from "./protocol/messages.js";
import { idOf } from "./protocol/models.js";
import { Recovery } from "./recovery.js";
import { onButton, showLink, showWiFi } from "./rules.js";
import { Settings } from "./settings.js";
import { eraseSettings, SettingsTrial } from "./settings-trial.js";
import { StartCount } from "./start-count.js";
import { StateReporter } from "./state-reporter.js";
import { Probation } from "./update/probation.js";

const restartDelayMs = 500;

/** Entry of the component list in main.ts. */
export interface ComponentDefinition {
	/** Features announced in the header `Device-Features`. */
	readonly features: readonly Feature[];
	readonly create: (core: Core) => Component;
}

/** Services available to components. */
export interface Core {
	readonly host: Host;
	readonly deviceId: string;
	readonly system: System;
	readonly settings: Settings;
	readonly trial: SettingsTrial;
	readonly probation: Probation;
	readonly peripherals: Peripherals;
	readonly gateway: Gateway;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** Returns the reason of the first component that is busy; see Component. */
	readonly findBusyReason: () => string | undefined;
	/** Notifies all components. */
	readonly onUpdate: (isRunning: boolean) => void;
	readonly restart: () => void;
	/** Restarts after 500 ms, so that the close frame is sent first. */
	readonly restartSoon: () => void;
}

export class Firmware {
	readonly #host: Host;
	readonly #system: System;
	readonly #deviceId: string;
	readonly #probation: Probation;
	readonly #startCount: StartCount;
	readonly #trial: SettingsTrial;
	readonly #settings: Settings;
	readonly #clock: Clock;
	readonly #recovery: Recovery;
	readonly #peripherals: Peripherals;
	/** This and the next two are undefined without settings. */
	#gateway: Gateway | undefined;
	#reporter: StateReporter | undefined;
	#commands: Commands | undefined;
	#components: readonly Component[] = [];
	/** Provisioning by USB, until the gateway is first reached. */
	#improv: Improv | undefined;
	/** Undoes the last button press. */
	#undoPress: (() => void) | undefined;

	constructor(host: Host) {
		const { storage, network, update } = host;
		this.#host = host;
		this.#system = new host.system({});
		const { resetReason, buildTime, macAddress } = this.#system;
		this.#deviceId = idOf(host.model, macAddress);
		// Created first: if anything below throws, an unconfirmed image is rolled back.
		this.#probation = new Probation({ boot: new update.boot({}), restart: () => this.#restart() });
		const store = new storage.settings({});
		// A confirmed image that keeps crashing starts in safe mode.
		this.#startCount = new StartCount({ store, resetReason, isPendingVerify: this.#probation.isOn });
		storeBuiltInSettings(store, buildTime);
		if (host.serial) this.#improv = this.#createImprov(host.serial, store);
		this.#trial = new SettingsTrial({
			store,
			getFailureReason: () => this.#gateway?.failureReason ?? "the gateway's address is invalid",
			restart: () => this.#restart(),
			send: (result) => this.#gateway?.send({ type: "settings_result", deviceId: this.#deviceId, ...result }),
		});
		this.#settings = new Settings({ store, onTrial: (name) => this.#trial.value(name) });
		this.#clock = new Clock({
			part: network.time,
			system: this.#system,
			server: this.#settings.text("sntp") || undefined,
			settings: this.#settings,
			onSet: () => this.#peripherals.quiet.check(),
		});
		this.#peripherals = createPeripherals({
			parts: host.peripheral,
			settings: this.#settings,
			isSafeMode: this.#startCount.isSafeMode,
			now: () => this.#system.uptimeMs,
			onPressed: (name) => this.#onPressed(name),
			onButtons: () => this.#recovery.onChanged(this.#peripherals.buttons.report),
			onChanged: () => this.#reporter?.changed(),
		});
		this.#recovery = new Recovery({
			ring: this.#peripherals.ring,
			onErase: () => {
				trace("factory reset: play and mute were held, all settings are erased\n");
				eraseSettings(store);
				this.#startCount.markStable();
				this.#system.restart();
			},
		});
	}

	/** Connects if the device has settings. @param definitions components, in the order in which they are notified */
	start(definitions: readonly ComponentDefinition[]): void {
		const { ring } = this.#peripherals;
		const [network, address] = [this.#settings.text("ssid"), this.#settings.text("gateway")];
		const usesDiscovery = address === "" && this.#settings.text("token") !== "" && this.#host.network.udp;
		if (network === "" || (address === "" && !usesDiscovery)) {
			trace("no settings: set up this device by USB from the dashboard, or flash it with settings\n");
			return ring.showUnprovisioned();
		}
		trace(`settings: network "${network}", gateway ${address || "by discovery"}\n`);
		const url = usesDiscovery ? undefined : gatewayUrl(address);
		if (url === undefined && !usesDiscovery) {
			ring.connection = ledState.serverFailed;
			return;
		}
		const gateway = this.#createGateway(url, definitions);
		const reporter = this.#createReporter(gateway);
		const core = this.#createCore(gateway);
		const components = [reporter, ...definitions.map(({ create }) => create(core))];
		this.#gateway = gateway;
		this.#reporter = reporter;
		this.#components = components;
		this.#commands = new Commands({
			deviceId: this.#deviceId,
			model: this.#host.model,
			components,
			isSafeMode: this.#startCount.isSafeMode,
			send: (error) => gateway.send(error),
		});
		gateway.start();
	}

	/** @param url undefined: found by discovery */
	#createGateway(url: Url | undefined, definitions: readonly ComponentDefinition[]): Gateway {
		const { model, chip, network, digest } = this.#host;
		const present = definitions.flatMap((definition) => definition.features);
		return new Gateway({
			network,
			sha256: digest.sha256,
			url,
			deviceId: this.#deviceId,
			settings: this.#settings,
			trial: this.#trial,
			clock: this.#clock,
			headers: [
				["Device-Id", this.#deviceId],
				["Device-Model", model],
				["Device-Chip", chip],
				["Device-Features", features.filter((feature) => present.includes(feature)).join(",")],
				["Protocol-Version", "1"],
			],
			onWiFi: (state) => showWiFi(state, this.#peripherals.ring),
			onLink: (state) => this.#onLink(state),
			onMessage: (message) => this.#commands?.receive(message),
			onDrained: () => {
				this.#reporter?.flush();
				this.#onReported();
			},
		});
	}

	#createImprov(port: NonNullable<Host["serial"]>, store: KeyValueStore): Improv {
		const { network, chip } = this.#host;
		return new Improv({
			port,
			wifi: network.wifi,
			store,
			deviceId: this.#deviceId,
			information: ["device-gateway", this.#system.firmwareVersion, chip, this.#deviceId],
			isConnected: () => this.#gateway?.wifi.state === "connected",
			freeWiFi: () => this.#gateway?.close(),
			onWiFi: (state) => {
				const { ring } = this.#peripherals;
				const isKnown = store.read("gateway") || store.read("token");
				showLink(isKnown ? "connecting" : "failed", ring);
				showWiFi(state, ring);
			},
			restart: () => this.#restart(),
		});
	}

	#createReporter({ wifi, link }: Gateway): StateReporter {
		return new StateReporter({
			deviceId: this.#deviceId,
			model: this.#host.model,
			system: this.#system,
			clock: this.#clock,
			wifi,
			link,
			peripherals: this.#peripherals,
			isSafeMode: this.#startCount.isSafeMode,
			onSent: () => this.#onReported(),
		});
	}

	#createCore(gateway: Gateway): Core {
		return {
			host: this.#host,
			deviceId: this.#deviceId,
			system: this.#system,
			settings: this.#settings,
			trial: this.#trial,
			probation: this.#probation,
			peripherals: this.#peripherals,
			gateway,
			now: () => this.#system.uptimeMs,
			findBusyReason: () => this.#findBusyReason(),
			onUpdate: (isRunning) => {
				for (const component of this.#components) component.onUpdate?.(isRunning);
			},
			restart: () => this.#restart(),
			restartSoon: () => {
				for (const component of this.#components) component.onRestart?.();
				gateway.link.stop();
				Timer.set(() => this.#restart(), restartDelayMs);
			},
		};
	}

	#onPressed(name: ButtonName): void {
		// Someone is waiting, so do not wait for the backoff.
		this.#gateway?.retryNow();
		const isRecovery = this.#recovery.onPressed(name);
		if (isRecovery) this.#undoPress?.();
		this.#undoPress = isRecovery ? undefined : onButton(name, this.#peripherals);
	}

	#onLink(state: LinkState): void {
		showLink(state, this.#peripherals.ring);
		const isConnected = state === "connected";
		if (isConnected) {
			this.#startCount.markStable();
			this.#improv?.close();
			this.#improv = undefined;
		}
		for (const component of this.#components)
			if (isConnected) component.onConnected?.();
			else component.onDisconnected?.();
	}

	/** Notifies components once a report and all other messages are sent. */
	#onReported(): void {
		if (!this.#reporter?.hasReported || !this.#gateway?.isDrained) return;
		for (const component of this.#components) component.onReported?.();
	}

	#findBusyReason(): string | undefined {
		for (const component of this.#components) {
			const reason = component.findBusyReason?.();
			if (reason !== undefined) return reason;
		}
		return undefined;
	}

	#restart(): void {
		this.#startCount.markStable();
		this.#clock.store();
		this.#settings.flush();
		this.#system.restart();
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
