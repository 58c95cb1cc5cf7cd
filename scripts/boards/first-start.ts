/**
 * Monitors the first start of a board on its serial port until it connects to its gateway or fails. It matches trace messages of
 * device/; a test compares them with those of virtual devices.
 */

import { setTimeout } from "node:timers/promises";
import { SerialPort } from "./serial.js";

export interface Outcome {
	readonly isConnected: boolean;
	/** Message for the user: result and what to do. */
	readonly text: string;
}

interface Step {
	readonly line: RegExp;
	/** Whether the state is permanent. */
	readonly isFinal?: boolean;
	readonly outcome: (found: RegExpExecArray) => string;
}

/** Trace messages of the firmware; the first match applies. */
const steps: readonly Step[] = [
	{
		line: /^no settings/,
		isFinal: true,
		outcome: () =>
			"No settings on the board. Flash it with ssid=, password=, gateway= and token= instead of keep, or set it up on the dashboard (Add device).",
	},
	{
		line: /^Wi-Fi: the access point "(.+)" rejected the password/,
		outcome: ([, ssid]) =>
			`Wi-Fi: "${ssid}" rejected the password, or the signal is weak. Flash the board again with the right password=.`,
	},
	{
		line: /^Wi-Fi: there is no access point "(.+)" in reach/,
		outcome: ([, ssid]) =>
			`Wi-Fi: "${ssid}" not in range. Check the spelling of ssid=; the chip supports 2.4 GHz only, not 5 GHz.`,
	},
	{
		line: /^Wi-Fi: (no connection to "(.+)")/,
		outcome: ([, , ssid]) =>
			`Wi-Fi: no address from "${ssid}". Its DHCP server does not respond, or the signal is weak.`,
	},
	{ line: /^Wi-Fi: (.+)/, outcome: ([, reason]) => `Wi-Fi: ${reason}. Retrying.` },
	{ line: /^Wi-Fi connecting/, outcome: () => "Wi-Fi: connecting." },
	{
		line: /^gateway: (the gateway rejected the token.*)/,
		isFinal: true,
		outcome: ([, reason]) =>
			`${sentence(reason)}. Flash the board again with the token= of data/tokens.json ("device") or of npm run token.`,
	},
	{
		line: /^gateway: (the gateway rejected this device.*)/,
		isFinal: true,
		outcome: ([, reason]) => `${sentence(reason)}. See the issues on the gateway's dashboard.`,
	},
	{
		line: /^gateway: (the gateway's address has the wrong path.*)/,
		isFinal: true,
		outcome: ([, reason]) =>
			`${sentence(reason)}. Flash the board again with the gateway= that npm start prints: …/device.`,
	},
	{
		line: /^discovery: no gateway in this network/,
		outcome: () =>
			"Wi-Fi connected, but no gateway found. Start a gateway with this token and HOST=0.0.0.0 in the same network, or flash the board again with gateway=.",
	},
	{
		line: /^gateway: (.+)/,
		outcome: ([, reason]) =>
			`Wi-Fi connected, but gateway unreachable: ${reason}. Check that the gateway runs with HOST=0.0.0.0 at the address in gateway=, and check the firewall.`,
	},
	{
		line: /^(Wi-Fi connected|gateway connecting)/,
		outcome: () =>
			"Wi-Fi connected, but the gateway does not respond. Check that it runs with HOST=0.0.0.0 at the address in gateway=.",
	},
];
const joined = /^gateway connected/;
/** Output of the chip's ROM at each start. */
const startOfRom = /^(ESP-ROM:|rst:0x)/;
/** Number of starts without firmware output that indicates a boot loop. */
const mostStarts = 4;

/** State of the first start, derived from the lines of a board. */
export class FirstStart {
	readonly #path: string;
	#message: string | undefined;
	#lines = 0;
	#starts = 0;
	#last = "";

	/** @param path path of the serial port */
	constructor(path: string) {
		this.#path = path;
	}

	/** Processes a line. @returns the final outcome; undefined while it may still change */
	addLine(line: string): Outcome | undefined {
		if (line.trim() === "") return undefined;
		this.#lines += 1;
		if (joined.test(line)) return { isConnected: true, text: "Connected to the gateway." };
		if (line.startsWith("ESP-ROM:")) {
			this.#starts += 1;
			if (this.#starts >= mostStarts) return this.outcome;
		}
		for (const { line: pattern, isFinal = false, outcome } of steps) {
			const found = pattern.exec(line);
			if (!found) continue;
			this.#starts = 0;
			this.#message = outcome(found);
			return isFinal ? this.outcome : undefined;
		}
		if (!startOfRom.test(line)) this.#last = line;
		return undefined;
	}

	/** Outcome so far, for a timeout. */
	get outcome(): Outcome {
		return { isConnected: false, text: this.#describe() };
	}

	#describe(): string {
		if (this.#message !== undefined) return this.#message;
		if (this.#lines === 0)
			return `No output on ${this.#path}. Press the reset button. If there is still no output, use the other USB socket of the board or another cable, and check the ring.`;
		const last = this.#last === "" ? "" : ` Last line: ${this.#last}`;
		if (this.#starts >= mostStarts)
			return `Boot loop before the firmware starts. Check that the module is an ESP32-S3-WROOM-1-N16R8 (16 MB flash, 8 MB octal PSRAM).${last}`;
		return `Started, but no Wi-Fi output yet.${last}`;
	}
}

export interface WatchOptions {
	/** Serial port, which may disappear briefly after flashing. */
	readonly path: string;
	readonly timeoutMs: number;
	readonly onLine: (line: string) => void;
}

/** @throws Error if the port cannot be read */
export async function watchFirstStart({ path, timeoutMs, onLine }: WatchOptions): Promise<Outcome> {
	const start = new FirstStart(path);
	const over = new AbortController();
	let ended: Outcome | undefined;
	const port = SerialPort.open({
		path,
		isAwaited: true,
		onLine: (line) => {
			onLine(line);
			ended ??= start.addLine(line);
			if (ended) over.abort();
		},
	});
	try {
		await setTimeout(timeoutMs, undefined, { signal: over.signal });
	} catch {
		// The outcome is final.
	} finally {
		port.close();
	}
	return ended ?? start.outcome;
}

function sentence(text = ""): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}
