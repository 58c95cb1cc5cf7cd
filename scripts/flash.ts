/**
 * `npm run flash`: builds the firmware for a board, with its network and gateway compiled in, and writes it by USB. First it
 * says everything that is missing, since a build that fails for that takes minutes and says it in other words.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../device/protocol/schema.js";
import { findDeviceToken } from "../hosts/virtual/node/device-token.js";
import { buildBoard, flashBoard } from "./board-build.js";
import { choosePort, findPorts, missingIdf } from "./board-tools.js";
import { type FlashArguments, FlashProblems, readArguments, usage } from "./flash-arguments.js";
import { findModdableSdk, type ModdableSdk, projectFolder } from "./moddable-sdk.js";
import { RedactingPrinter } from "./redacting-printer.js";

try {
	await run(process.argv.slice(2));
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
}

async function run(words: readonly string[]): Promise<void> {
	const { given, sdk, port } = prepare(words);
	const { model, settings, secrets } = given;
	const version = packageVersion();
	const outputFolder = join(projectFolder, ".cache", "esp32");
	const printer = new RedactingPrinter({ secrets, print: (line) => console.log(line) });
	const onOutput = (text: string) => printer.write(text);
	const board = { ...sdk, environment: { ...sdk.environment, UPLOAD_PORT: port } };
	try {
		console.log(`Building the firmware ${version} of ${model}; the first time takes several minutes.`);
		await buildBoard({ sdk: board, model, version, outputFolder, settings, onOutput });
		console.log(`Writing it to the board at ${port}.`);
		await flashBoard({ sdk: board, model, outputFolder, onOutput });
	} finally {
		printer.end();
	}
	console.log(`${model} ${version} is on the board. It starts by itself, or at its reset button.`);
}

interface Prepared {
	readonly given: FlashArguments;
	readonly sdk: ModdableSdk;
	readonly port: string;
}

/** Collects every problem before it gives up. */
function prepare(words: readonly string[]): Prepared {
	const problems: string[] = [];
	let isUsageWanted = false;
	const attempt = <T>(action: () => T): T | undefined => {
		try {
			return action();
		} catch (error) {
			problems.push(error instanceof Error ? error.message : String(error));
			isUsageWanted ||= error instanceof FlashProblems;
			return undefined;
		}
	};
	const findToken = () => findDeviceToken(process.env.DATA_DIR || "data");
	const given = attempt(() => readArguments({ words, findToken }));
	const sdk = attempt(() => findModdableSdk());
	const idf = missingIdf(process.env);
	if (idf) problems.push(idf);
	const named = words.find((word) => word.startsWith("port="))?.slice("port=".length);
	const chosen = choosePort(named || process.env.UPLOAD_PORT, findPorts());
	if ("problem" in chosen) problems.push(chosen.problem);
	if (problems.length > 0 || !given || !sdk || "problem" in chosen)
		throw new Error([...problems, ...(isUsageWanted ? ["", usage] : [])].join("\n"));
	return { given, sdk, port: chosen.port };
}

function packageVersion(): string {
	const value: unknown = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
	if (isRecord(value) && typeof value.version === "string") return value.version;
	throw new Error("package.json has no version");
}
