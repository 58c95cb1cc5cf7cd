/** Indicators for the connections to the access point and to the gateway. */

import { colors, label, plate, styles, whole } from "./theme.js";

const states = Object.freeze({
	wifi: {
		200: { text: "down", color: colors.bad },
		300: { text: "connecting", color: colors.waiting },
		500: { text: "connected", color: colors.good },
	},
	gateway: {
		offline: { text: "offline", color: colors.bad },
		connecting: { text: "connecting", color: colors.waiting },
		connected: { text: "connected", color: colors.good },
	},
});

class LinkBehavior extends Behavior {
	onCreate(_container, { kind }) {
		this.states = states[kind];
		this.kind = kind;
	}

	onOutput(container, output) {
		const state =
			output.ready || output.aborted ? Object.values(this.states)[0] : this.states[output[this.kind]];
		if (!state) return;
		container.content(1).skin = new Skin({ fill: state.color, stroke: state.color });
		container.last.string = state.text;
	}
}

export const LinkPill = Container.template(($) => ({
	left: $.left,
	top: $.top,
	width: 168,
	height: 32,
	Behavior: LinkBehavior,
	contents: [
		plate($, { ...whole, radius: 16, fill: colors.pressed, stroke: colors.edge, border: 1 }),
		plate($, { left: 14, top: 12, width: 8, height: 8, radius: 4, fill: colors.bad }),
		label($, { left: 30, width: 70, top: 0, bottom: 0 }, styles.pill, $.title),
		label($, { right: 14, width: 80, top: 0, bottom: 0 }, styles.pillValue, "off"),
	],
}));
