/** Runs an action and traces its exception, which would restart the board in a timer. @returns whether it succeeded */
export function attempt(what: string, action: () => void): boolean {
	try {
		action();
		return true;
	} catch (error) {
		trace(`${what}: ${error}\n`);
		return false;
	}
}
