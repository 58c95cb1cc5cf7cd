/** `npm run api`: generates gateway/api/asyncapi.yaml. */

import { asyncApiDocument } from "./api/asyncapi.js";
import { writeDocument } from "./api/write.js";
import { refuseWords, runCommand } from "./command-line/command.js";

const usage = `Usage: npm run api

Generates gateway/api/asyncapi.yaml from device/protocol/ and scripts/api/. gateway/api/openapi.yaml is written by hand.`;

await runCommand({
	name: "api",
	usage,
	run: (words) => {
		refuseWords(words);
		const { file, text } = asyncApiDocument();
		console.log(writeDocument(file, text));
	},
});
