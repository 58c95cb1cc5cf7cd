/** Files outside the data folder that belong in a backup. */

import { Service } from "./service.js";

/** Path of WEBHOOKS_FILE. */
export const webhooksPath = new Service<string>();
