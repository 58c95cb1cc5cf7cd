/** Trace output of the firmware below the controls, newest line first. */

import { colors } from "./theme.js";

const mostLines = 200;
const width = 300;
const spacing = { left: 8, right: 8, top: 1, bottom: 1 };
const style = new Style({ font: "12px Open Sans", color: colors.text, horizontal: "left", ...spacing });

/** Log lines, kept while the pane is closed and when the firmware restarts. */
export class Log {
	/** Lines, newest first. */
	#lines = [];
	#unfinished = "";
	/** Pane filled with these lines. */
	#pane;

	/** Adds text of any length; a line is shown once it is complete. @param pane undefined if the pane is closed */
	write(text, pane) {
		const lines = (this.#unfinished + text).split("\n");
		this.#unfinished = lines.pop();
		for (const line of lines)
			if (line !== "") this.#add(`${new Date().toTimeString().slice(0, 8)} ${line}`, pane);
	}

	#add(line, pane) {
		this.#lines.unshift(line);
		if (this.#lines.length > mostLines) this.#lines.pop();
		if (!pane) return;
		if (pane !== this.#pane) return this.#fill(pane);
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
function contentOf(string) {
	return new Text(null, { left: 0, width, style, string });
}

export function LogPane() {
	return new Column(null, { left: 0, right: 0, top: 0, skin: new Skin({ fill: colors.well }) });
}
