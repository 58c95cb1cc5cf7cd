/** Monitors the first start of a board on its serial port until it connects to its gateway or cannot. */

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
export function watchFirstStart({ path, timeoutMs, onLine }: WatchOptions): Promise<boolean> {
	return new Promise((resolve) => {
		const end = (isConnected: boolean) => {
			clearTimeout(timer);
			port.close();
			resolve(isConnected);
		};
		const timer = setTimeout(end, timeoutMs, false);
		const port = new SerialPort({
			path,
			onLine: (line) => {
				onLine(line);
				const result = resultOf(line);
				if (result !== undefined) end(result);
			},
		});
	});
}
