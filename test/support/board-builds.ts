import { type BoardBuildOptions, buildBoard } from "../../scripts/boards/build.js";

/** Builds without printing. @returns path of the image @throws Error with the end of the output */
export async function buildQuietly(options: Omit<BoardBuildOptions, "onOutput">): Promise<string> {
	let output = "";
	const onOutput = (text: string) => {
		output += text;
	};
	try {
		return await buildBoard({ ...options, onOutput });
	} catch (error) {
		throw new Error(`The build failed:\n${output.slice(-4000)}`, { cause: error });
	}
}
