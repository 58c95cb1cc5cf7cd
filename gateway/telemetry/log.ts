/**
 * The log: one line of JSON an event, on standard error. Secrets are struck out here once more, in case a request or an
 * error is ever logged whole.
 */

import { destination, type Logger, pino } from "pino";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const secrets = ["authorization", "cookie", "set-cookie", "token", "tokens", "deviceToken", "monitorToken"];

/** @param stream where lines go; standard error unless a test reads them */
export function createLog(level: LogLevel, stream: { write(line: string): void } = destination(2)): Logger {
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
