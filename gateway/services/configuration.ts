/** Files outside the data folder that belong in a backup. */

import { Service } from "./service.js";

/** The path of the file that WEBHOOKS_FILE names. */
export const webhooksPath = new Service<string>();
