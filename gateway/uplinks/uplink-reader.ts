/** Parses and validates uplinks. */

import { checkUplink, type Uplink, uplinks } from "../../device/protocol/messages.js";
import { hasPart } from "../../device/protocol/models.js";
import { isRecord, models, type Schema } from "../../device/protocol/schema.js";
import { parseJson, wellFormedJson } from "../api/json.js";
import { ReportShape } from "./report-shape.js";

export type ReadUplink =
	| {
			readonly uplink: Uplink;
			/** Received text in UTF-8, well-formed and without fields that the model does not support. */
			readonly text: Buffer;
			/** Number of fields dropped from the text. */
			readonly droppedFields: number;
			readonly problem?: undefined;
	  }
	| {
			/** Invalid field and reason, as a sentence. */
			readonly problem: string;
	  };

/** Maximum number of shapes; enough for two models, each with some firmware versions. */
const maxShapes = 8;
/** Number of reports without a shape per derived shape, since deriving one takes as long as parsing some reports. */
const shapeInterval = 16;

export class UplinkReader {
	/** Shapes of all devices, most recently used first. */
	readonly #shapes: ReportShape[] = [];
	#reportsWithoutShape = 0;

	/** @param received uplink in UTF-8 */
	read(received: Buffer): ReadUplink {
		for (const [index, shape] of this.#shapes.entries()) {
			const report = shape.read(received);
			if (!report) continue;
			if (index > 0) this.#moveToFront(shape, index);
			return { uplink: report, text: received, droppedFields: 0 };
		}
		const original = received.toString();
		const json = wellFormedJson(original);
		const text = json === original ? received : Buffer.from(json);
		const value = parseJson(json);
		if (value === undefined) return { problem: "not JSON" };
		const checked = checkUplink(value);
		if (checked.problem !== undefined) return readSupportedFields(value, checked.problem);
		const { uplink } = checked;
		if (uplink.type === "state_report" && this.#reportsWithoutShape++ % shapeInterval === 0) {
			const shape = ReportShape.of(text, uplink.system.model);
			if (shape) this.#moveToFront(shape, maxShapes - 1);
		}
		return { uplink, text, droppedFields: 0 };
	}

	/** Moves a shape to the front. @param index its index, or that of the shape it replaces */
	#moveToFront(shape: ReportShape, index: number): void {
		this.#shapes.splice(index, 1);
		this.#shapes.unshift(shape);
	}
}

/** Drops the fields of a state report that its model does not support, and validates the rest. */
function readSupportedFields(report: unknown, problem: string): ReadUplink {
	const system = isRecord(report) ? report.system : undefined;
	const model = models.find((name) => isRecord(system) && system.model === name);
	if (!model) return { problem };
	let droppedFields = 0;
	const supported = (schema: Schema, value: unknown): unknown => {
		if (schema.type !== "object" || !isRecord(value)) return value;
		const fields = { ...value };
		for (const [name, field] of Object.entries(schema.fields)) {
			if (fields[name] === undefined) continue;
			if (!field.part || hasPart(model, field.part)) fields[name] = supported(field, fields[name]);
			else if (delete fields[name]) droppedFields += 1;
		}
		return fields;
	};
	const rest = supported(uplinks.state_report, report);
	if (droppedFields === 0) return { problem };
	const checked = checkUplink(rest);
	if (checked.problem !== undefined) return checked;
	return { uplink: checked.uplink, text: Buffer.from(JSON.stringify(rest)), droppedFields };
}
