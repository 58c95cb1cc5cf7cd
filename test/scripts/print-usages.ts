/** Runs every npm command with --help in one process: a process for each takes most of a minute. */

import { commands } from "./npm-commands.js";

for (const { name, file, given } of commands) {
	console.log(`--- ${name}`);
	process.argv = [process.execPath, file, ...given, "--help"];
	await import(`../../${file}?${name}`);
}
