/** `npm run api`: makes gateway/api/asyncapi.yaml and openapi.yaml anew. */

import { writeFileSync } from "node:fs";
import { apiDocuments } from "./api/documents.js";

for (const { file, text } of apiDocuments()) writeFileSync(file, text);
