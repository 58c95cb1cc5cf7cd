/** `npm run api`: generates the API documents and the settings table in gateway/README.md. */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { asyncApiDocument } from "./api/asyncapi.js";
import { openApiDocument } from "./api/openapi.js";
import { settingsDocument } from "./api/settings-table.js";
import { runCommand } from "./command-line/command.js";

const usage = `Usage: npm run api

Generates gateway/api/asyncapi.yaml from device/protocol/ and scripts/api/, gateway/api/openapi.yaml from the route tables in
gateway/api/, and the settings table in gateway/README.md.`;

await runCommand({
	name: "api",
	usage,
	options: {},
	run: () => {
		for (const { file, text } of [asyncApiDocument(), openApiDocument(), settingsDocument()]) {
			writeFileSync(file, text);
			console.log(`Wrote ${fileURLToPath(file)}.`);
		}
	},
});
