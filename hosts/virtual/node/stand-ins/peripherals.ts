/** Buttons, light, touch, LED ring, haptics, speaker and codec: each shows on the Board what the firmware does, and back. */

import { buttonNames } from "../../../../device/host.js";
import { type StandIn, textOf } from "./stand-in.js";

export const digital: StandIn = (channel, { board }) => {
	const wanted = textOf(channel.options, "name");
	const name = buttonNames.find((button) => button === wanted);
	if (name === undefined) throw new Error(`there is no button ${wanted}`);
	const onClose = board.listen({
		onButton: (changed, isPressed) => {
			if (changed === name) channel.send("level", isPressed ? 1 : 0);
		},
	});
	// A button that is held while the device starts.
	if (board.isPressed(name)) channel.send("level", 1);
	return { onClose };
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

export const codec: StandIn = (_channel, { board }) => ({
	onPost: (request, value) => {
		if (request === "volume") board.codec.volume = Number(value);
		else board.codec.isMuted = value === true;
	},
});
