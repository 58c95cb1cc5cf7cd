/** Colors, fonts and shapes of the panel. */

const base = import.meta.uri;

export const colors = Object.freeze({
	body: "#1c1e22",
	edge: "#34373e",
	well: "#0f1012",
	raised: "#26292f",
	raisedEdge: "#3c4048",
	pressed: "#16181b",
	text: "#e8eaed",
	quiet: "#8b9098",
	faint: "#777d87",
	accent: "#4f9cf9",
	good: "#3ecf8e",
	waiting: "#f5a623",
	bad: "#f0524f",
});

const style = (font, color, more = {}) => new Style({ font: `${font} Open Sans`, color, ...more });
export const styles = Object.freeze({
	model: style("bold 15px", colors.text, { horizontal: "left" }),
	device: style("12px", colors.faint, { horizontal: "right" }),
	caption: style("semibold 10px", colors.faint),
	volume: style("light 46px", colors.text),
	sound: style("12px", colors.quiet),
	button: style("semibold 10px", colors.quiet),
	pill: style("semibold 12px", colors.text, { horizontal: "left" }),
	pillValue: style("12px", colors.quiet, { horizontal: "right" }),
	value: style("20px", colors.text),
});

/** Masks made by scripts/assets/panel-sprites.ts, with their place in the sheet. */
const sheet = new Texture({ base, path: "sprites.png" });
export const sprites = Object.freeze({
	glow: { x: 0, y: 0, size: 112 },
	core: { x: 112, y: 0, size: 32 },
	spark: { x: 144, y: 64, size: 32 },
	mute: { x: 112, y: 32, size: 32 },
	play: { x: 112, y: 64, size: 32 },
	volumeDown: { x: 144, y: 0, size: 32 },
	volumeUp: { x: 144, y: 32, size: 32 },
});

/** Draws a sprite with its middle at x, y. */
export function drawSprite(port, { x: left, y: top, size }, color, x, y) {
	port.drawTexture(sheet, color, Math.round(x - size / 2), Math.round(y - size / 2), left, top, size, size);
}

/** `border` pixels wide, with corners of `radius`. */
export function plate($, { fill, stroke = fill, border = 0, ...rest }) {
	return new RoundContent($, { ...rest, border, skin: new Skin({ fill, stroke }) });
}

export function disc($, { diameter, x, y, ...rest }) {
	return plate($, {
		...rest,
		left: x - diameter / 2,
		top: y - diameter / 2,
		width: diameter,
		height: diameter,
		radius: diameter / 2,
	});
}
