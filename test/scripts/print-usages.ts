/** Runs every npm command with --help in one process, because separate processes take most of a minute. */

import { commands } from "./npm-commands.js";

for (const { name, file, given } of commands) {
	console.log(`--- ${name}`);
	process.argv = [process.execPath, file, ...given, "--help"];
	await import(`../../${file.replace(/ts$/, "js")}?${name}`);
}
