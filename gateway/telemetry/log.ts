/** Log: JSON lines on standard error, with secrets redacted. */

import { constants, fstatSync, openSync } from "node:fs";
import { destination, type Logger, pino } from "pino";
import { printableJson } from "./printable.js";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const secrets = ["authorization", "cookie", "set-cookie", "token", "tokens", "deviceToken", "monitorToken"];

/** Pino's number for `warn`. */
const warnLevel = 40;
/** Rate limit of lines with the same message. Further ones are only counted. */
export const linesAMinute = 60;
const minuteMs = 60_000;
/** Number of attempts, every 100 ms, to write a fatal line to a full pipe. */
const fatalTries = 10;

/** Error listener, shared by all logs of a process. */
const ignore = () => {};

/** File descriptor of standard error, shared by all logs of a process. */
let standardErrorDescriptor: number | undefined;

/**
 * Returns a file descriptor of standard error. A pipe is opened again, as child processes that inherit it share its
 * flags: esbuild makes it blocking, so that a pipe that is not read would stop the gateway.
 */
function openStandardError(): number {
	try {
		if (fstatSync(2).isFIFO()) return openSync("/dev/stderr", constants.O_WRONLY | constants.O_NONBLOCK);
	} catch {
		// A pipe of another user, as after a change of user.
	}
	return 2;
}

/**
 * Creates a stream to standard error. If it fails (disk full, terminal closed, pipe not read), only lines are lost. Writes are
 * synchronous, to preserve the lines before a crash. Accessing `process.stderr` makes a socket non-blocking. A partially written
 * line is completed with the next one.
 */
function standardError() {
	process.stderr.off("error", ignore).on("error", ignore);
	standardErrorDescriptor ??= openStandardError();
	let tries = 0;
	const stream = destination({
		dest: standardErrorDescriptor,
		sync: true,
		maxLength: 1024 * 1024,
		retryEAGAIN: () => tries-- > 0,
	});
	stream.on("error", ignore);
	return {
		write: (line: string) => void stream.write(printableJson(line)),

		/** Called by Pino after a fatal line. The stream's own method would retry forever on a full disk. */
		flushSync: () => {
			tries = fatalTries;
			stream.write("");
			tries = 0;
		},
	};
}

/**
 * Limits the rate of lines with the same cause, as a client without a token could fill the disk otherwise.
 * @returns whether to write a line; `reportOmitted` is called after a minute with omitted lines
 */
function createLineLimit() {
	const counts = new Map<string, number>();
	return (cause: string, reportOmitted: (leftOut: number) => void): boolean => {
		const count = (counts.get(cause) ?? 0) + 1;
		counts.set(cause, count);
		if (count === 1)
			setTimeout(() => {
				const leftOut = (counts.get(cause) ?? 0) - linesAMinute;
				counts.delete(cause);
				if (leftOut > 0) reportOmitted(leftOut);
			}, minuteMs).unref();
		return count <= linesAMinute;
	};
}

/** @param stream default: standard error */
export function createLog(level: LogLevel, stream: { write(line: string): void } = standardError()): Logger {
	const mayWrite = createLineLimit();
	return pino(
		{
			level,
			hooks: {
				logMethod(args, write, lineLevel) {
					const cause = args.find((arg) => typeof arg === "string") ?? "";
					const reportOmitted = (leftOut: number) => write.call(this, { cause, leftOut }, "lines left out");
					if (lineLevel < warnLevel || mayWrite(cause, reportOmitted)) write.apply(this, args);
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
