/** Why the gateway cannot start, for a person. main.ts prints it without a stack trace; any other error is a defect. */
export class StartError extends Error {
	override readonly name = "StartError";
}

/** An option such as `--port` would be ignored unnoticed otherwise. @throws {StartError} if there is any */
export function refuseArguments([word]: readonly string[]): void {
	if (word === undefined) return;
	throw new StartError(
		`"${word}" is not understood here: settings come from the environment, such as PORT=8090 npm start; see the README.`,
	);
}

/** A system error's code, such as EADDRINUSE; undefined for other values. */
export function errorCode(error: unknown): string | undefined {
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
