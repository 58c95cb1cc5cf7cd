/** gateway/api/asyncapi.yaml and openapi.yaml as they follow from the protocol table and the routes. */

import { stringify } from "yaml";
import { asyncApi } from "./asyncapi.js";
import type { JsonObject } from "./json-schema.js";
import { openApi } from "./openapi.js";

const head = "# Made by `npm run api`; change scripts/api/ or device/protocol/ and make it again.\n";

/** What a device shows as Protocol-Version; not the gateway's own, which changes without these. */
const protocolVersion = "1";

/** Each document by its file, as text. */
export function apiDocuments(): readonly { readonly file: URL; readonly text: string }[] {
	return [
		{
			file: new URL("../../gateway/api/asyncapi.yaml", import.meta.url),
			text: yaml(asyncApi(protocolVersion)),
		},
		{
			file: new URL("../../gateway/api/openapi.yaml", import.meta.url),
			text: yaml(openApi(protocolVersion)),
		},
	];
}

function yaml(document: JsonObject): string {
	return head + stringify(document, { lineWidth: 110, aliasDuplicateObjects: false });
}
