/** Backup of a running gateway. */

import { oneOf, optional } from "../../device/protocol/schema.js";
import { monitors } from "./permissions.js";
import { binary, defineRoutes } from "./route.js";
import { described } from "./shapes.js";

export const backupRoutes = defineRoutes("backup", {
	"GET /api/backup": {
		summary: "Creates a backup of the running gateway, including all tokens; recorded in the audit log",
		roles: monitors,
		isAudited: true,
		query: {
			releases: described(optional(oneOf("1")), "1: includes the images of releases and of the upload"),
		},
		returns:
			"A tar.gz archive. Its last file, backup.json, contains the format and the SHA-256 of each other file; without it the archive is incomplete.",
		reply: binary("application/gzip"),
		problems: {
			500: "The backup would be incomplete; `detail` names the file that cannot be read, such as a broken link.",
		},
	},
});
