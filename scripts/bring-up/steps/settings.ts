/** Test of settings in flash, including a restart. */

import { randomUUID } from "node:crypto";
import { type Context, type Finding, failed, passed } from "../step.js";

/** Key that the firmware does not use. */
const key = "bring-up";
const wantedReason = "SW_RESET";

export async function checkSettings({ board }: Context): Promise<Finding> {
	const value = randomUUID();
	await board.request("setting_write", { key, value });
	if ((await board.request("setting_read", { key })).value !== value)
		return failed(
			"Reading back from partition nvs failed: the flash is damaged, or its supply fails during writes.",
		);
	await Promise.all([board.nextStart(), board.request("restart", {})]);
	const { reset_reason: reason } = await board.request("about", {});
	const kept = (await board.request("setting_read", { key })).value;
	await board.request("setting_delete", { key });
	if (kept !== value) return failed("Data in partition nvs was lost by a restart.");
	if (reason !== wantedReason)
		return failed(`The board restarted by ${reason} instead of ${wantedReason}. Check its supply.`);
	return passed("Written, read back, and kept after a restart.");
}
