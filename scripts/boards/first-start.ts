/**
 * Follows a board's first start on its serial port, until it has joined its gateway or it is known what it waits for. The sentences of the
 * firmware that it looks for are those of device/; a test compares them on virtual devices.
 */

import { setTimeout } from "node:timers/promises";
import { SerialPort } from "./serial.js";

export interface Outcome {
	readonly isJoined: boolean;
	/** What a person is told: what happens, and what to do. */
	readonly text: string;
}

interface Step {
	readonly line: RegExp;
	/** It will not change by itself. */
	readonly isFinal?: boolean;
	readonly outcome: (found: RegExpExecArray) => string;
}

/** As the firmware traces them; the first one that matches counts. */
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
/** Printed by the chip's ROM at each start, whatever the firmware does. */
const startOfRom = /^(ESP-ROM:|rst:0x)/;
/** More of them without a word of the firmware between are no first start. */
const mostStarts = 4;

/** What a board's lines say of its first start. */
export class FirstStart {
	readonly #path: string;
	#standing: string | undefined;
	#lines = 0;
	#starts = 0;
	#last = "";

	/** @param path of the serial port */
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
	/** Serial port; it may be away for a moment after the board was written. */
	readonly path: string;
	/** At most. */
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
		// Something final was said.
	} finally {
		port.close();
	}
	return ended ?? start.standing;
}

function sentence(text = ""): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}
