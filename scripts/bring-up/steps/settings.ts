/** Test of settings in flash, including a restart. */

import { randomUUID } from "node:crypto";
import { type Context, type Finding, failed, passed } from "../step.js";

/** Key that the firmware does not use. */
const key = "bring-up";
const wantedReason = "SW_RESET";

export async function checkSettings({ board }: Context): Promise<Finding> {
	const value = randomUUID();
	const written = await board.ask("setting_write", { key, value });
	if (written.problem) return failed(`Nothing can be written to the partition nvs: ${written.problem}.`);
	if ((await board.ask("setting_read", { key })).value !== value)
		return failed(
			"What was written to the partition nvs is not read back: the flash is damaged, or its supply fails while it is written.",
		);
	await Promise.all([board.started(), board.ask("restart", {})]);
	const { reset_reason: reason } = await board.ask("about", {});
	const kept = (await board.ask("setting_read", { key })).value;
	await board.ask("setting_delete", { key });
	if (kept !== value) return failed("What was written to the partition nvs is gone after a restart.");
	if (reason !== wantedReason)
		return failed(`The board restarted by ${reason} instead of ${wantedReason}: check its supply.`);
	return passed("Written, read back, and kept over a restart.");
}
