/** Log pane below the controls, newest line first. */

import { colors } from "./theme.js";

const mostLines = 200;
const width = 300;

const style = (color) =>
	new Style({ font: "12px Open Sans", color, horizontal: "left", left: 8, right: 8, top: 1, bottom: 1 });
const lineStyles = Object.freeze({
	command: style(colors.accent),
	message: style(colors.quiet),
	update: style(colors.waiting),
	problem: style(colors.bad),
	trace: style(colors.text),
});

/** Log lines, kept while the pane is closed and when the firmware restarts. */
export class Log {
	/** Lines, newest first. */
	#lines = [];
	/** Pane filled with these lines. */
	#pane;

	/** @param line line of ../../modules/log.ts @param pane undefined if the pane is closed */
	add({ kind, text, isReplacing }, pane) {
		const time = new Date().toTimeString().slice(0, 8);
		const line = { style: lineStyles[kind], string: `${time} ${text}` };
		if (isReplacing) this.#lines.shift();
		this.#lines.unshift(line);
		if (this.#lines.length > mostLines) this.#lines.pop();
		if (!pane) return;
		if (pane !== this.#pane) return this.#fill(pane);
		if (isReplacing) pane.remove(pane.first);
		if (pane.first) pane.insert(contentOf(line), pane.first);
		else pane.add(contentOf(line));
		if (pane.length > mostLines) pane.remove(pane.last);
	}

	#fill(pane) {
		this.#pane = pane;
		pane.empty();
		for (const line of this.#lines) pane.add(contentOf(line));
	}
}

/** Creates one text per line: mcsim crashes if the blocks of one text are replaced often. */
function contentOf({ style, string }) {
	return new Text(null, { left: 0, width, style, string });
}

export function LogPane() {
	return new Column(null, { left: 0, right: 0, top: 0, skin: new Skin({ fill: colors.well }) });
}
