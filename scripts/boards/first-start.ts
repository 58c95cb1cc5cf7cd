/**
 * Monitors the first start of a board on its serial port until it connects to its gateway or fails. It matches trace messages of
 * device/; a test compares them with those of virtual devices.
 */

import { setTimeout } from "node:timers/promises";
import { SerialPort } from "./serial.js";

export interface Outcome {
	readonly isJoined: boolean;
	/** State of the start, and what to do. */
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
		line: /^this device has no settings/,
		isFinal: true,
		outcome: () =>
			"It has no settings: flash it with ssid=, password=, gateway= and token=, not with keep; or set it up from the dashboard: Add device.",
	},
	{
		line: /^Wi-Fi: the access point "(.+)" refused the password/,
		outcome: ([, ssid]) =>
			`Wi-Fi: "${ssid}" refused the password. Flash it again with the right password=; a weak signal looks the same.`,
	},
	{
		line: /^Wi-Fi: there is no access point "(.+)" in reach/,
		outcome: ([, ssid]) =>
			`Wi-Fi: there is no "${ssid}" in reach. Look at how ssid= is written; the chip knows 2.4 GHz only, not 5 GHz.`,
	},
	{
		line: /^Wi-Fi: (no connection to "(.+)")/,
		outcome: ([, , ssid]) =>
			`Wi-Fi: it gets no address from "${ssid}": its DHCP server does not answer, or the signal is weak.`,
	},
	{ line: /^Wi-Fi: (.+)/, outcome: ([, reason]) => `Wi-Fi: ${reason}. It tries again.` },
	{ line: /^Wi-Fi connecting/, outcome: () => "Wi-Fi: it looks for its network, and has not joined it yet." },
	{
		line: /^gateway: (the gateway refused the token.*)/,
		isFinal: true,
		outcome: ([, reason]) =>
			`${sentence(reason)}. Flash it again with token= of data/tokens.json ("device"), or what npm run token prints for it.`,
	},
	{
		line: /^gateway: (the gateway's address has the wrong path.*)/,
		isFinal: true,
		outcome: ([, reason]) =>
			`${sentence(reason)}. Flash it again with gateway= as npm start prints it: …/device.`,
	},
	{
		line: /^gateway: none in this network/,
		outcome: () =>
			"It is in the Wi-Fi and finds no gateway: does one with this token run with HOST=0.0.0.0 in the same network? Otherwise flash it again with gateway=.",
	},
	{
		line: /^gateway: (.+)/,
		outcome: ([, reason]) =>
			`It is in the Wi-Fi and does not reach its gateway: ${reason}. Does the gateway run with HOST=0.0.0.0, at the address that was given as gateway=, and does no firewall stop it?`,
	},
	{
		line: /^(Wi-Fi connected|gateway connecting)/,
		outcome: () =>
			"It is in the Wi-Fi, and the gateway does not answer: does it run with HOST=0.0.0.0, at the address that was given as gateway=?",
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
	#standing: string | undefined;
	#lines = 0;
	#starts = 0;
	#last = "";

	/** @param path path of the serial port */
	constructor(path: string) {
		this.#path = path;
	}

	/** @returns undefined while it may still change */
	take(line: string): Outcome | undefined {
		if (line.trim() === "") return undefined;
		this.#lines += 1;
		if (joined.test(line)) return { isJoined: true, text: "It has joined the gateway." };
		if (line.startsWith("ESP-ROM:")) {
			this.#starts += 1;
			if (this.#starts >= mostStarts) return this.standing;
		}
		for (const { line: pattern, isFinal = false, outcome } of steps) {
			const found = pattern.exec(line);
			if (!found) continue;
			this.#starts = 0;
			this.#standing = outcome(found);
			return isFinal ? this.standing : undefined;
		}
		if (!startOfRom.test(line)) this.#last = line;
		return undefined;
	}

	/** When the time is over. */
	get standing(): Outcome {
		return { isJoined: false, text: this.#describe() };
	}

	#describe(): string {
		if (this.#standing !== undefined) return this.#standing;
		if (this.#lines === 0)
			return `It prints nothing on ${this.#path}: press its reset button. If nothing comes then either, use the board's other USB socket, or another cable, and see its ring.`;
		const last = this.#last === "" ? "" : ` Its last line: ${this.#last}`;
		if (this.#starts >= mostStarts)
			return `It restarts again and again before the firmware speaks. Is its module an ESP32-S3-WROOM-1-N16R8 (16 MB of flash, 8 MB of octal PSRAM)?${last}`;
		return `It has started, and says nothing of the Wi-Fi yet.${last}`;
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
			ended ??= start.take(line);
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
	return ended ?? start.standing;
}

function sentence(text = ""): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}
