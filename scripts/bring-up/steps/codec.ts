/** Test of the codec on its I2C bus; searches other pins if it does not respond. */

import { boardModule } from "../hardware.js";
import { type Context, type Finding, failed, passed } from "../step.js";

const allAddresses = Array.from({ length: 0x70 }, (_, index) => 0x08 + index);
/** Addresses of the ES8311 with CE low and high (data sheet 10.0); its registers 0xFD and 0xFE are 0x83 and 0x11. */
const codecAddresses = [0x18, 0x19];
const chipIds = [
	{ register: 0xfd, value: 0x83 },
	{ register: 0xfe, value: 0x11 },
];
const defaultAddress = 0x18;

interface Bus {
	readonly data: number;
	readonly clock: number;
}

export async function checkCodec(context: Context): Promise<Finding> {
	const { board, person, pins } = context;
	const { data, clock, address: expected = defaultAddress } = pins.codec;
	const { answering, low } = await board.request("i2c_probe", { data, clock, addresses: allAddresses });
	if (low)
		person.print(
			`The ${low} line, GPIO ${low === "data" ? data : clock}, stays low: short circuit to ground, or a chip without power.`,
		);
	if (answering.length > 0) person.print(`Responding addresses: ${answering.map(hex).join(", ")}.`);
	const found = await findCodec(context, { data, clock }, answering);
	if (found === expected)
		return passed(`ES8311 responds at GPIO ${data} (data) and ${clock} (clock), address ${hex(found)}.`);
	if (found !== undefined)
		return {
			...failed(
				`The ES8311 responds at address ${hex(found)}, not ${hex(expected)}: its pin CE is ${found === 0x19 ? "high" : "low"}.`,
			),
			pins: { codec: { data, clock, address: found } },
		};
	const elsewhere = await searchPins(context);
	if (elsewhere) {
		const { bus, address } = elsewhere;
		const isSwapped = bus.data === clock && bus.clock === data;
		return {
			...failed(
				isSwapped
					? `Data and clock are swapped: the ES8311 responds with data at GPIO ${bus.data} and clock at ${bus.clock}.`
					: `The ES8311 responds at GPIO ${bus.data} (data) and ${bus.clock} (clock), not at ${data} and ${clock}.`,
			),
			pins: { codec: { ...bus, ...(address !== defaultAddress && { address }) } },
		};
	}
	return failed(
		`No ES8311 responds at GPIO ${data} (data) and ${clock} (clock) or any other pair of free pins.`,
		...(low ? [`The ${low} line, GPIO ${low === "data" ? data : clock}, stays low.`] : []),
		"Check its supply (3.3 V), its ground, and the pull-ups of both lines.",
	);
}

/** @returns address of an ES8311 among the responding ones */
async function findCodec(
	{ board }: Context,
	bus: Bus,
	answering: readonly number[],
): Promise<number | undefined> {
	for (const address of codecAddresses.filter((known) => answering.includes(known))) {
		const values: (number | undefined)[] = [];
		for (const { register } of chipIds)
			values.push((await board.request("i2c_read", { ...bus, address, register })).value);
		if (chipIds.every(({ value }, index) => value === values[index])) return address;
	}
	return undefined;
}

/** Searches the swapped pins first, then each pair of free pins. */
async function searchPins(context: Context): Promise<{ bus: Bus; address: number } | undefined> {
	const { board, person, pins } = context;
	const { data, clock } = pins.codec;
	person.print("Not found. Trying other pins, which may briefly activate other parts …");
	const free = boardModule.freePins;
	const pairs = free.flatMap((pin) =>
		free.filter((clockPin) => clockPin !== pin).map((clockPin) => ({ data: pin, clock: clockPin })),
	);
	for (const bus of [{ data: clock, clock: data }, ...pairs]) {
		const { answering } = await board
			.request("i2c_probe", { ...bus, addresses: codecAddresses })
			.catch(() => ({ answering: [] }));
		const address = await findCodec(context, bus, answering);
		if (address !== undefined) return { bus, address };
	}
	return undefined;
}

function hex(address: number): string {
	return `0x${address.toString(16)}`;
}
