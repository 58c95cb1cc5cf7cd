import { optionalTextSetting } from "../setting.js";

/** File with the receivers of events (hooks.ts); undefined: none. */
export const webhooksFile = optionalTextSetting(
	"WEBHOOKS_FILE",
	"JSON file with the webhooks; see [Webhooks](webhooks/README.md)",
);
