/** Backups of a running gateway. */

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { Readable } from "node:stream";
import { restore } from "../../scripts/backup/restore.js";
import { bearer, monitorToken } from "./gateway-settings.js";

/** @param query such as `?releases=1` */
export async function downloadBackup(url: string, query = ""): Promise<Buffer> {
	const response = await fetch(`${url}/api/backup${query}`, { headers: bearer(monitorToken) });
	assert.equal(response.status, 200);
	return Buffer.from(await response.arrayBuffer());
}

/** Restores a backup that is not encrypted. @returns its description */
export function restoreBackup(content: Buffer, dataDir: string, releasesDir: string) {
	const archive = Readable.from([content]);
	return restore({ archive, dataDir, releasesDir, passphrase: undefined, disk: fs, onProblem: assert.fail });
}
