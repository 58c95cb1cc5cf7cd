/**
 * Why the gateway cannot start, as a sentence for the person who started it. main.ts prints it without a stack trace;
 * any other error is a fault of ours and keeps its trace.
 */
export class StartError extends Error {
	override readonly name = "StartError";
}

/** Without this an option, such as `--port`, would be ignored unnoticed. @throws StartError where there is any */
export function refuseArguments([word]: readonly string[]): void {
	if (word === undefined) return;
	throw new StartError(
		`"${word}" is not understood here: settings come from the environment, such as PORT=8090 npm start; see the README.`,
	);
}

/** A system error's code, such as EADDRINUSE; undefined for any other value. */
export function errorCode(error: unknown): string | undefined {
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
