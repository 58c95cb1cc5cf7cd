/** Models and their hardware. The pins of a model's board are in hosts/<model in lower case>/pins.ts. */

/** Parts that only some models have, named as in Host.peripheral. */
export type BoardPart = "haptics" | "ambientLight" | "touch";

interface BoardModel {
	/** LEDs of the ring. */
	readonly pixels: number;
	readonly parts: readonly BoardPart[];
}

/** Names used in state reports and images; at most 15 characters. */
export const models = Object.freeze(["DEV-1", "PROTO-1"] as const);
export type Model = (typeof models)[number];

export const boardModels: Readonly<Record<Model, BoardModel>> = Object.freeze({
	"DEV-1": board(12, []),
	"PROTO-1": board(12, ["haptics", "ambientLight", "touch"]),
});

/** @throws Error that lists the models */
export function requireModel(name: unknown): Model {
	const model = models.find((known) => known === name);
	if (!model)
		throw new Error(`unknown model ${String(name)}; device/protocol/models.ts has ${models.join(", ")}`);
	return model;
}

export function hasPart(model: Model, part: BoardPart): boolean {
	return boardModels[model].parts.includes(part);
}

/** @param macAddress six bytes in hex, joined by colons @returns device id, e.g. `dev-1-7cdfa1a1b2c3` */
export function idOf(model: Model, macAddress: string): string {
	return `${model.toLowerCase()}-${macAddress.replaceAll(":", "").toLowerCase()}`;
}

/** Lists the models with a part for a message, e.g. "PROTO-1". */
export function modelsWith(part: BoardPart): string {
	return models.filter((model) => hasPart(model, part)).join(" and ");
}

function board(pixels: number, parts: readonly BoardPart[]): BoardModel {
	return Object.freeze({ pixels, parts: Object.freeze(parts) });
}

/** Chips of boards. A device that does not report its chip is a board. */
export const boardChips = Object.freeze(["esp32s3", "esp32"] as const);
