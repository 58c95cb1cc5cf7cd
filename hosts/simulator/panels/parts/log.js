/** The log pane, below the controls: the newest line first. */

import { colours } from "./look.js";

const mostLines = 200;
const width = 300;

const style = (color) =>
	new Style({ font: "12px Open Sans", color, horizontal: "left", left: 8, right: 8, top: 1, bottom: 1 });
const lineStyles = Object.freeze({
	command: style(colours.accent),
	message: style(colours.quiet),
	update: style(colours.waiting),
	problem: style(colours.bad),
	trace: style(colours.text),
});

/** Its lines stay while the pane is closed, and when the firmware restarts. */
export class Log {
	#lines = [];

	/** @param line of ../../modules/log.ts @param pane undefined: it is closed */
	add({ kind, text, isReplacing }, pane) {
		if (isReplacing) this.#lines.shift();
		const time = new Date().toTimeString().slice(0, 8);
		this.#lines.unshift({ style: lineStyles[kind], spans: `${time} ${text}` });
		if (this.#lines.length > mostLines) this.#lines.pop();
		if (pane) pane.first.blocks = this.#lines;
	}
}

export function LogPane() {
	return new Column(null, {
		left: 0,
		right: 0,
		top: 0,
		skin: new Skin({ fill: colours.well }),
		contents: [new Text(null, { left: 4, top: 4, width, string: "" })],
	});
}
