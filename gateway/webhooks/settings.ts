import { optionalText } from "../setting.js";

/** The receivers of events (hooks.ts); undefined: none. */
export const webhooksFile = optionalText(
	"WEBHOOKS_FILE",
	"a JSON file that says which programs are told of what happens; see [Webhooks](webhooks/README.md)",
);
