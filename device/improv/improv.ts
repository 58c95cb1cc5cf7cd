/**
 * Provisioning over the serial port by Improv: a computer scans for networks and sends Wi-Fi, gateway and token. It ends
 * once the gateway is reached, so that a program that probes serial ports cannot change working settings. This is no
 * protection against an attacker: anyone with access to the port can also flash firmware.
 */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { FoundNetwork, Host, KeyValueStore, SerialPort, WiFiPart } from "../host.js";
import { parseGatewayUrl } from "../network/gateway-url.js";
import { checkJsonLimits } from "../network/json-limits.js";
import { type WiFiState, WiFiStation } from "../network/wifi.js";
import { type ChangedSettings, commands, maxCommandBytes } from "../protocol/messages.js";
import { describeProblem, findProblem, matches } from "../protocol/schema.js";
import { storeSettings } from "../settings-trial.js";
import {
	command,
	encodeCommand,
	encodePacket,
	improvError,
	improvState,
	joinFields,
	PacketReader,
	packetType,
	splitFields,
} from "./packets.js";

const pollMs = 50;
/** Clients wait 30 s for an answer. */
const attemptMs = 25_000;
const scanMs = 6_000;
/** Delay from the last command to the restart with new settings. */
const restartMs = 2_000;
/** Delay from the last command to the restart with unchanged settings. */
const idleMs = 120_000;
const maxFieldBytes = 250;

const settings = commands.set_settings.fields.value;

export interface ImprovOptions {
	readonly port: NonNullable<Host["serial"]>;
	readonly wifi: WiFiPart;
	readonly store: KeyValueStore;
	readonly deviceId: string;
	/** In the order of the standard: firmware, its version, chip, device. */
	readonly information: readonly string[];
	/** Whether Wi-Fi is connected with the stored settings. */
	readonly isConnected: () => boolean;
	/** Stops the current use of Wi-Fi. Called once. */
	readonly freeWiFi: () => void;
	readonly onWiFi: (state: WiFiState) => void;
	readonly restart: () => void;
}

export class Improv {
	readonly #options: ImprovOptions;
	readonly #port: SerialPort;
	/** More than a UART of 115,200 baud receives in pollMs. */
	readonly #received = new Uint8Array(640);
	readonly #reader: PacketReader;
	readonly #pollTimer: Timer;
	/** Settings in JSON, as far as received. */
	#json = "";
	/** Undefined until this class uses Wi-Fi. */
	#state: number | undefined;
	/** Current scan, or connection attempt and then the connection. */
	#wifiUser: { close(): void } | undefined;
	/** Timeout of the running scan or attempt. */
	#limitTimer: Timer | undefined;
	/** Whether the stored settings differ from those in use. */
	#isChanged = false;
	#restartTimer: Timer | undefined;

	constructor(options: ImprovOptions) {
		this.#options = options;
		this.#port = new options.port({});
		this.#reader = new PacketReader((type, data) => {
			if (type === packetType.command) this.#execute(data);
		});
		this.#pollTimer = Timer.repeat(() => this.#poll(), pollMs);
	}

	/** Ends provisioning. */
	close(): void {
		Timer.clear(this.#pollTimer);
		this.#port.close();
	}

	#poll(): void {
		const count = this.#port.read(this.#received);
		if (count > 0) this.#reader.read(this.#received.subarray(0, count));
		else this.#reader.pause();
	}

	#execute(data: Uint8Array): void {
		const [id = 0, length] = data;
		const body = data.subarray(2);
		this.#writePacket(packetType.errorState, improvError.none);
		try {
			if (length !== body.length) throw new RangeError("invalid command length");
			this.#answer(id, body);
		} catch (error) {
			trace(`Improv: ${error}\n`);
			this.#writePacket(packetType.errorState, improvError.invalidPacket);
		}
		this.#planRestart();
	}

	#answer(id: number, body: Uint8Array): void {
		switch (id) {
			case command.wifiSettings:
				return this.#join(body);
			case command.currentState:
				return this.#sendState(id);
			case command.deviceInformation:
				return this.#sendResult(id, this.#options.information);
			case command.networks:
				return this.#scan();
			case command.settings:
				return this.#receiveSettings(body);
			default:
				this.#writePacket(packetType.errorState, improvError.unknownCommand);
		}
	}

	#join(body: Uint8Array): void {
		const [ssid = "", password = ""] = splitFields(body).map(textOf);
		const network = { ssid, password };
		this.#useWiFi(attemptMs, () => this.#onFailed());
		const problem = findProblem(settings, network);
		if (problem) return this.#onFailed(`Improv: ${describeProblem(problem)}\n`);
		this.#state = improvState.provisioning;
		this.#sendState();
		const station = new WiFiStation({
			part: this.#options.wifi,
			networks: [{ ...network, isOnTrial: false }],
			isTrialOn: () => false,
			hostname: this.#options.deviceId,
			onStateChanged: (state) => this.#onWiFi(state, network),
		});
		this.#wifiUser = station;
		station.start();
	}

	#onWiFi(state: WiFiState, network: ChangedSettings): void {
		this.#options.onWiFi(state);
		if (this.#state !== improvState.provisioning || state === "connecting") return;
		if (state === "failed" || this.#store(network) !== undefined) return this.#onFailed();
		Timer.clear(this.#limitTimer);
		this.#limitTimer = undefined;
		this.#state = improvState.provisioned;
		this.#sendState(command.wifiSettings);
		this.#planRestart();
	}

	#onFailed(message = ""): void {
		trace(message);
		this.#endUse();
		this.#state = improvState.ready;
		this.#isChanged = false;
		this.#options.onWiFi("failed");
		this.#writePacket(packetType.errorState, improvError.unableToConnect);
		this.#sendState();
		this.#planRestart();
	}

	#scan(): void {
		const onComplete = () => {
			this.#endUse();
			this.#sendResult(command.networks, []);
			this.#planRestart();
		};
		this.#useWiFi(scanMs, onComplete);
		const wifi = new this.#options.wifi({ onChanged() {} });
		this.#wifiUser = wifi;
		/** Networks already reported: the driver returns every access point, the strongest first. */
		const names = new Set([""]);
		const onFound = ({ SSID, RSSI, security }: FoundNetwork) => {
			if (names.has(SSID)) return;
			names.add(SSID);
			this.#sendResult(command.networks, [SSID, String(RSSI), security === "none" ? "NO" : "YES"]);
		};
		const hasBegun = attempt("Improv: scan failed", () => wifi.scan?.({ onFound, onComplete }));
		if (!wifi.scan || !hasBegun) onComplete();
	}

	/** Prepares for a scan or an attempt. @param onLimit called after `limitMs` */
	#useWiFi(limitMs: number, onLimit: () => void): void {
		if (this.#state === undefined) this.#options.freeWiFi();
		this.#state = improvState.ready;
		this.#endUse();
		this.#limitTimer = Timer.set(onLimit, limitMs);
	}

	#endUse(): void {
		Timer.clear(this.#limitTimer);
		this.#limitTimer = undefined;
		this.#wifiUser?.close();
		this.#wifiUser = undefined;
	}

	#receiveSettings(piece: Uint8Array): void {
		const text = this.#json + textOf(piece);
		this.#json = "";
		if (text.length > maxCommandBytes) throw new RangeError("settings too long");
		if (piece.length > 0) {
			this.#json = text;
			return this.#sendResult(command.settings, []);
		}
		checkJsonLimits(new Uint8Array(ArrayBuffer.fromString(text)));
		const problem = this.#store(JSON.parse(text));
		this.#sendResult(command.settings, problem === undefined ? [] : [problem]);
	}

	/** @returns a sentence that explains what to change; undefined: stored */
	#store(changed: unknown): string | undefined {
		let problem: string | undefined;
		try {
			if (matches(settings, changed)) problem = storeSettings(this.#options.store, changed);
			else problem = describeProblem(findProblem(settings, changed));
		} catch (error) {
			problem = `the settings could not be stored: ${error}`;
		}
		this.#isChanged ||= problem === undefined;
		if (problem !== undefined) trace(`Improv: ${problem}\n`);
		return problem;
	}

	/** Schedules a restart after a period without commands, if the device has the settings to reach a gateway. */
	#planRestart(): void {
		Timer.clear(this.#restartTimer);
		this.#restartTimer = undefined;
		const { store, restart } = this.#options;
		const isUsed = this.#isChanged || this.#state !== undefined;
		if (this.#limitTimer || !isUsed || !store.read("ssid") || !store.read("token")) return;
		this.#restartTimer = Timer.set(restart, this.#isChanged ? restartMs : idleMs);
	}

	/** @param id of the requesting command; a connected device also answers it with the address of the gateway's page */
	#sendState(id?: number): void {
		const { isConnected, store } = this.#options;
		const state = this.#state ?? (isConnected() ? improvState.provisioned : improvState.ready);
		this.#writePacket(packetType.currentState, state);
		if (id === undefined || state !== improvState.provisioned) return;
		const gateway = store.read("gateway") ?? "";
		this.#sendResult(id, gateway === "" ? [] : [pageOf(gateway)]);
	}

	#sendResult(id: number, texts: readonly string[]): void {
		const fields = texts.map((text) =>
			new Uint8Array(ArrayBuffer.fromString(text)).subarray(0, maxFieldBytes),
		);
		this.#port.write(encodeCommand(packetType.result, id, joinFields(fields)));
	}

	#writePacket(type: number, value: number): void {
		this.#port.write(encodePacket(type, [value]));
	}
}

/** The dashboard is served in the folder of the path that devices connect to. */
function pageOf(gateway: string): string {
	const { isSecure, host, port, path } = parseGatewayUrl(gateway);
	return `${isSecure ? "https" : "http"}://${host}:${port}${path.slice(0, path.lastIndexOf("/") + 1)}`;
}

/** @throws Error for invalid UTF-8, or for a NUL, which XS 13.3 takes for the end of the string */
function textOf(bytes: Uint8Array): string {
	if (bytes.includes(0)) throw new Error("invalid character NUL");
	return String.fromArrayBuffer(bytes.slice().buffer);
}
