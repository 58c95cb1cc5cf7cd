/** `npm run api`: generates gateway/api/asyncapi.yaml. */

import { writeFileSync } from "node:fs";
import { asyncApiDocument } from "./api/asyncapi.js";

const { file, text } = asyncApiDocument();
writeFileSync(file, text);
