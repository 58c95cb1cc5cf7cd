/** Monitors the first start of a board on its serial port until it connects to its gateway or cannot. */

import { setTimeout } from "node:timers/promises";
import { SerialPort } from "./serial.js";

const connected = "gateway connected";
/** Trace messages of the firmware after which only the user can change the state. */
const permanentFailure =
	/^(no settings|gateway: the gateway rejected|gateway: the gateway's address has the wrong path)/;

/** Result that a line of the trace shows. @returns whether the device is connected; undefined while that may change */
export function resultOf(line: string): boolean | undefined {
	if (line.startsWith(connected)) return true;
	return permanentFailure.test(line) ? false : undefined;
}

export interface WatchOptions {
	/** Serial port, which may disappear briefly after flashing. */
	readonly path: string;
	readonly timeoutMs: number;
	readonly onLine: (line: string) => void;
}

/** @returns whether the board is connected to its gateway @throws Error if the port cannot be read */
export async function watchFirstStart({ path, timeoutMs, onLine }: WatchOptions): Promise<boolean> {
	const over = new AbortController();
	let isConnected: boolean | undefined;
	const port = SerialPort.open({
		path,
		isAwaited: true,
		onLine: (line) => {
			onLine(line);
			isConnected ??= resultOf(line);
			if (isConnected !== undefined) over.abort();
		},
	});
	try {
		await setTimeout(timeoutMs, undefined, { signal: over.signal });
	} catch {
		// The result is final.
	} finally {
		port.close();
	}
	return isConnected === true;
}
