/** Buttons, light, touch, LED ring, haptics, speaker and codec: each shows on the Board what the firmware does, and back. */

import { buttonNames } from "../../../../device/host.js";
import { numberOf, type StandIn, textOf } from "./stand-in.js";

export const digital: StandIn = (channel, { board }) => {
	const wanted = textOf(channel.options, "name");
	const name = buttonNames.find((button) => button === wanted);
	if (name === undefined) throw new Error(`there is no button ${wanted}`);
	const onClose = board.listen({
		onButton: (changed) => {
			if (changed === name) channel.send("edge");
		},
	});
	return { onCall: () => ({ detail: board.isPressed(name) ? 1 : 0 }), onClose };
};

export const light: StandIn = (channel, { board }) => {
	channel.send("value", board.light);
	return { onClose: board.listen({ onLight: (level) => channel.send("value", level) }) };
};

export const touch: StandIn = (channel, { board }) => {
	channel.send("value", board.touchCount);
	return { onClose: board.listen({ onTouch: (count) => channel.send("value", count) }) };
};

export const pixels: StandIn = (_channel, { board }) => ({
	onPost: (_request, _detail, frame) => {
		board.pixels.set(frame);
		board.frameCount += 1;
	},
});

export const haptics: StandIn = (_channel, { board }) => ({
	onPost: (_request, duty) => {
		board.hapticDuty = Number(duty);
	},
});

export const audio: StandIn = (_channel, { board }) => ({
	onPost: (request, _detail, samples) => {
		if (request === "write") board.sound.push(Uint8Array.from(samples));
		else board.isSounding = request === "start";
	},
});

/** The ES8311's control bus. A codec that does not answer is an exception, as with the SDK's driver. */
export const smbus: StandIn = (_channel, { board }) => ({
	onCall: (request, detail) => {
		const { registers, isAnswering } = board.codec;
		if (!isAnswering) throw new Error("no acknowledge");
		const register = numberOf(detail, "register");
		if (request === "read") return { detail: registers[register] ?? 0 };
		registers[register] = numberOf(detail, "value");
		return undefined;
	},
});
