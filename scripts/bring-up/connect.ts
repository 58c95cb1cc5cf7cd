/** Installs the bring-up program on a board and connects to it. */

import { flashBoard } from "../boards/flash-board.js";
import { SerialPort } from "../boards/serial.js";
import { findPort, needBoardTools } from "../boards/tools.js";
import { thisMachine } from "../command-line/machine.js";
import { Problems } from "../command-line/problems.js";
import { packageVersion } from "../command-line/project.js";
import type { BringUpArguments } from "./arguments.js";
import { bringUpManifest, outputFolder } from "./targets.js";

/** Builds and flashes the program, unless it is kept. @throws Error with all missing prerequisites */
export async function connect(
	request: BringUpArguments,
	onLine: (line: string) => void,
): Promise<SerialPort> {
	const {
		target: { model },
		isKept,
	} = request;
	const problems = new Problems();
	const sdk = isKept ? undefined : needBoardTools(problems, request);
	const found = problems.need(findPort(thisMachine(), request.port ?? process.env.UPLOAD_PORT));
	if (problems.areFound || !found) throw problems.asError();
	const { what: port } = found;
	if (sdk) {
		console.log(`Building the bring-up program for ${model}. The first build takes several minutes.`);
		await flashBoard({
			sdk,
			model,
			manifest: bringUpManifest,
			version: packageVersion(),
			releaseKeys: "",
			outputFolder,
			port,
			settings: undefined,
			onBuilt: () => console.log(`Writing it to the board at ${port}.`),
		});
	}
	return SerialPort.open({ path: port, onLine });
}
