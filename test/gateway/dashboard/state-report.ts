/** Reports of devices for tests of the page. */

import { type StateReport, uplinks } from "../../../device/protocol/messages.js";
import { type Model, matches } from "../../../device/protocol/schema.js";
import { type Json, sampleReport, withFields } from "../../support/sample-report.js";

/** @param fields by path, such as "peripherals.audio.volume"; undefined removes one */
export function stateReport(
	model: Model,
	fields: Readonly<Record<string, Json | undefined>> = {},
): StateReport {
	const report = withFields(sampleReport(model), fields);
	if (!matches(uplinks.state_report, report)) throw new Error("The report is invalid.");
	return report;
}
