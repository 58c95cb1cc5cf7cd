/** Full state reports of benchmarked devices, each with the time at which it was sent. */

import { sampleReport } from "../../../scripts/api/sample-report.js";

/** Digits of `now()`. */
const stampDigits = 16;

/** Microseconds on a clock that all processes of this computer share. */
export function now(): number {
	return Number(process.hrtime.bigint() / 1000n);
}

function deviceIdOf(index: number): string {
	return `dev-1-${index.toString(16).padStart(6, "0")}`;
}

/** Report of one device without its last field, the time: see `stamped`. */
export function reportHead(index: number): string {
	const report = { ...sampleReport("DEV-1"), deviceId: deviceIdOf(index) };
	return `${JSON.stringify(report).slice(0, -1)},"sent":"`;
}

export function stamped(head: string): string {
	return `${head}${String(now()).padStart(stampDigits, "0")}"}`;
}

const kindAt = '{"type":"'.length;
const kind = "device_message";

/** Send time of a relayed report in microseconds; undefined for any other frame. */
export function sentAt(frame: Buffer): number | undefined {
	if (frame.toString("latin1", kindAt, kindAt + kind.length) !== kind) return undefined;
	const end = frame.length - '"}}'.length;
	const stamp = frame.toString("latin1", end - stampDigits, end);
	return /^\d+$/.test(stamp) ? Number(stamp) : undefined;
}
