/** Reads and checks what devices send. */

import { checkUplink, type Uplink, uplinks } from "../../device/protocol/messages.js";
import { hasPart } from "../../device/protocol/models.js";
import { isRecord, models, type Schema } from "../../device/protocol/schema.js";
import { parseJson, wellFormedJson } from "../api/json.js";
import { ReportShape } from "./report-shape.js";

export type ReadUplink =
	| {
			readonly uplink: Uplink;
			/** Received text in UTF-8, well-formed and without fields of other models. */
			readonly text: Buffer;
			/** How many fields were left out. */
			readonly droppedFields: number;
			readonly problem?: undefined;
	  }
	| {
			/** A sentence that says what is wrong and where. */
			readonly problem: string;
	  };

/** Enough for two models, each with some versions of the firmware. */
const shapesAtMost = 8;
/** Finding a shape takes as long as reading some reports, so it is tried with every 16th text that has none. */
const lookEvery = 16;

export class UplinkReader {
	/** Shapes of all devices, most recently used first. */
	readonly #shapes: ReportShape[] = [];
	#withoutShape = 0;

	/** @param received in UTF-8 */
	read(received: Buffer): ReadUplink {
		for (const [index, shape] of this.#shapes.entries()) {
			const report = shape.read(received);
			if (!report) continue;
			if (index > 0) this.#use(shape, index);
			return { uplink: report, text: received, droppedFields: 0 };
		}
		const given = received.toString();
		const json = wellFormedJson(given);
		const text = json === given ? received : Buffer.from(json);
		const value = parseJson(json);
		if (value === undefined) return { problem: "not JSON" };
		const checked = checkUplink(value);
		if (checked.problem !== undefined) return readOwnFields(value, checked.problem);
		const { uplink } = checked;
		if (uplink.type === "state_report" && this.#withoutShape++ % lookEvery === 0) {
			const shape = ReportShape.of(text, uplink.system.model);
			if (shape) this.#use(shape, shapesAtMost - 1);
		}
		return { uplink, text, droppedFields: 0 };
	}

	/** @param index where it was */
	#use(shape: ReportShape, index: number): void {
		this.#shapes.splice(index, 1);
		this.#shapes.unshift(shape);
	}
}

/** Leaves out a state report's fields of parts that the model lacks, so that the rest is kept. */
function readOwnFields(report: unknown, problem: string): ReadUplink {
	const system = isRecord(report) ? report.system : undefined;
	const model = models.find((name) => isRecord(system) && system.model === name);
	if (!model) return { problem };
	let droppedFields = 0;
	const own = (schema: Schema, value: unknown): unknown => {
		if (schema.type !== "object" || !isRecord(value)) return value;
		const fields = { ...value };
		for (const [name, field] of Object.entries(schema.fields)) {
			if (fields[name] === undefined) continue;
			if (!field.part || hasPart(model, field.part)) fields[name] = own(field, fields[name]);
			else if (delete fields[name]) droppedFields += 1;
		}
		return fields;
	};
	const rest = own(uplinks.state_report, report);
	if (droppedFields === 0) return { problem };
	const checked = checkUplink(rest);
	if (checked.problem !== undefined) return checked;
	return { uplink: checked.uplink, text: Buffer.from(JSON.stringify(rest)), droppedFields };
}
