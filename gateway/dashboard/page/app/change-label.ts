/** Sends changes of a device's label. */

import { type Label, type LabelChange, labelFields, labelOf } from "../../../api/label.js";
import { request } from "./gateway.js";

/**
 * Changes the fields that differ from the known label, so that the audit log names no others. Without a difference it sends nothing.
 * @param known label that the person edited
 * @throws {Rejection}
 */
export async function changeLabel(deviceId: string, known: Label, wanted: LabelChange): Promise<void> {
	const before = labelOf(known);
	const next = labelOf({ ...known, ...wanted });
	const body = { ...wanted };
	for (const field of labelFields)
		if (`${next[field] ?? ""}` === `${before[field] ?? ""}`) delete body[field];
	if (Object.keys(body).length > 0)
		await request("PATCH /api/devices/:deviceId", { params: { deviceId }, body });
}
