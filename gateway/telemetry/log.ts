/**
 * The log: one line of JSON an event, on standard error. Secrets are struck out here once more, in case a request or an
 * error is ever logged whole.
 */

import { destination, type Logger, pino } from "pino";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const secrets = ["authorization", "cookie", "set-cookie", "token", "tokens", "deviceToken", "monitorToken"];

/** Pino's number of the level `warn`. */
const warnLevel = 40;
/** Lines of warnings and errors with the same message that are written within a minute; the others are counted. */
export const linesAMinute = 60;
const minuteMs = 60_000;
/** How often a fatal line is tried again where a pipe is full, every 100 ms. */
const fatalTries = 10;

/**
 * Standard error. Where it cannot be written (a full disk, a closed terminal, a pipe that no one reads) lines are lost,
 * and nothing else. Each line is written at once, so that those before a crash are there; a full pipe must not block
 * that: opening `process.stderr` sets a pipe to non-blocking, and what it does not take is tried again with the next line.
 */
function standardError() {
	process.stderr.on("error", () => {});
	let tries = 0;
	const stream = destination({ dest: 2, sync: true, maxLength: 1024 * 1024, retryEAGAIN: () => tries-- > 0 });
	stream.on("error", () => {});
	return {
		write: (line: string) => void stream.write(line),

		/** Called by Pino after a fatal line. Not the stream's own, which tries without end where a disk is full. */
		flushSync: () => {
			tries = fatalTries;
			stream.write("");
			tries = 0;
		},
	};
}

/**
 * Limits the lines of each cause: a client without a token could fill the disk otherwise.
 *
 * @returns whether a line may be written; `tellLeftOut` is called at the end of a minute in which some were not
 */
function createLineLimit() {
	const counts = new Map<string, number>();
	return (cause: string, tellLeftOut: (leftOut: number) => void): boolean => {
		const count = (counts.get(cause) ?? 0) + 1;
		counts.set(cause, count);
		if (count === 1)
			setTimeout(() => {
				const leftOut = (counts.get(cause) ?? 0) - linesAMinute;
				counts.delete(cause);
				if (leftOut > 0) tellLeftOut(leftOut);
			}, minuteMs).unref();
		return count <= linesAMinute;
	};
}

/** @param stream where lines go; standard error unless a test reads them */
export function createLog(level: LogLevel, stream: { write(line: string): void } = standardError()): Logger {
	const mayWrite = createLineLimit();
	return pino(
		{
			level,
			hooks: {
				logMethod(args, write, lineLevel) {
					const cause = args.find((each) => typeof each === "string") ?? "";
					const tellLeftOut = (leftOut: number) => write.call(this, { cause, leftOut }, "lines left out");
					if (lineLevel < warnLevel || mayWrite(cause, tellLeftOut)) write.apply(this, args);
				},
			},
			base: null,
			timestamp: () => `,"time":"${new Date().toISOString()}"`,
			formatters: { level: (label) => ({ level: label }) },
			redact: secrets.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.headers["${name}"]`]),
		},
		stream,
	);
}
