/** Backup of a running gateway. */

import { oneOf, optional } from "../../device/protocol/schema.js";
import { monitors } from "./permissions.js";
import { binary, defineRoutes } from "./route.js";
import { described } from "./shapes.js";

export const backupRoutes = defineRoutes("backup", {
	"GET /api/backup": {
		summary: "A backup of the running gateway, with all tokens; it is in the audit log",
		roles: monitors,
		isAudited: true,
		query: { releases: described(optional(oneOf("1")), "1: with the images of releases and of the upload") },
		returns:
			"A tar.gz whose last file, backup.json, has its format and the SHA-256 of each other file; without it the archive is incomplete.",
		reply: binary("application/gzip"),
		problems: {
			500: "The backup would be incomplete; `detail` names what cannot be read, such as a link without its target.",
		},
	},
});
