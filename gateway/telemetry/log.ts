/**
 * The log: one line of JSON an event, on standard error. Secrets are struck out here once more, in case a request or an
 * error is ever logged whole.
 */

import { destination, type Logger, pino } from "pino";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const secrets = ["authorization", "cookie", "set-cookie", "token", "tokens", "deviceToken", "monitorToken"];

/**
 * Standard error. Where it cannot be written (a full disk, a terminal that is gone) lines are lost, and nothing else: an
 * error that nobody listens to would end the gateway, and pino would wait for ever to write what is left.
 */
function standardError() {
	const stream = destination({ dest: 2, sync: true, maxLength: 1024 * 1024 });
	stream.on("error", () => {});
	return stream;
}

/** @param stream where lines go; standard error unless a test reads them */
export function createLog(level: LogLevel, stream: { write(line: string): void } = standardError()): Logger {
	return pino(
		{
			level,
			base: null,
			timestamp: () => `,"time":"${new Date().toISOString()}"`,
			formatters: { level: (label) => ({ level: label }) },
			redact: secrets.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.headers["${name}"]`]),
		},
		stream,
	);
}
