/** Additional parts of the PROTO-1: ambient light sensor, haptic motor and touch pad. */

import { byState, colors, disc, label, plate, styles, whole } from "./theme.js";

const cellWidth = 108;
const cellHeight = 92;

/** Cell of the row with a caption below. */
function Cell($, { left, caption, contents, ...rest }) {
	return new Container($, {
		left,
		top: 0,
		width: cellWidth,
		height: cellHeight,
		...rest,
		contents: [
			plate($, {
				...whole,
				radius: 14,
				fill: byState(colors.pressed, "#1d2b3f"),
				stroke: byState(colors.edge, colors.accent),
				border: 1,
			}),
			...contents,
			label($, { left: 0, right: 0, bottom: 8, height: 16 }, styles.caption, caption),
		],
	});
}

class LensBehavior extends Behavior {
	onLight(content, level) {
		const share = Math.sqrt(level / 4095);
		const fill = rgb(40 + 215 * share, 42 + 195 * share, 48 + 110 * share);
		content.skin = new Skin({ fill, stroke: colors.raisedEdge });
	}
}

class LightValueBehavior extends Behavior {
	onLight(label, level) {
		label.string = String(Math.round(level));
	}
}

const motorWidth = cellWidth - 32;
const bar = { left: 16, top: 48, height: 6, radius: 3 };

class MotorBarBehavior extends Behavior {
	onOutput(content, { haptics, ready }) {
		if (ready) content.visible = false;
		if (haptics === undefined) return;
		content.visible = haptics > 0;
		content.width = Math.max(6, Math.round(motorWidth * haptics));
	}
}

class MotorValueBehavior extends Behavior {
	onOutput(label, { haptics }) {
		if (haptics !== undefined) label.string = haptics === 0 ? "off" : `${Math.round(haptics * 100)} %`;
	}
}

class PadBehavior extends Behavior {
	onTouchBegan(container, id, x, y, ticks) {
		container.captureTouch(id, x, y, ticks);
		container.bubble("onPad", true);
	}

	onTouchEnded(container) {
		container.bubble("onPad", false);
	}

	onTouchCancelled(container) {
		container.bubble("onPad", false);
	}

	onTouch(container, isTouched) {
		container.first.state = isTouched ? 1 : 0;
		container.content(1).state = isTouched ? 1 : 0;
	}
}

export function Sensors($, { left, top }) {
	const gap = (344 - 3 * cellWidth) / 2;
	return new Container($, {
		left,
		top,
		width: 344,
		height: cellHeight,
		contents: [
			Cell($, {
				left: 0,
				caption: "AMBIENT LIGHT",
				contents: [
					disc($, {
						x: 28,
						y: 34,
						diameter: 24,
						fill: colors.raised,
						stroke: colors.raisedEdge,
						border: 1,
						Behavior: LensBehavior,
					}),
					label($, { left: 42, right: 8, top: 18, height: 32 }, styles.value, "–", LightValueBehavior),
				],
			}),
			Cell($, {
				left: cellWidth + gap,
				caption: "MOTOR POWER",
				contents: [
					label($, { left: 0, right: 0, top: 10, height: 32 }, styles.value, "off", MotorValueBehavior),
					plate($, { ...bar, width: motorWidth, fill: colors.raised }),
					plate($, { ...bar, width: 6, fill: colors.accent, visible: false, Behavior: MotorBarBehavior }),
				],
			}),
			Cell($, {
				left: 2 * (cellWidth + gap),
				caption: "TOUCH PAD",
				active: true,
				Behavior: PadBehavior,
				contents: [
					disc($, {
						x: cellWidth / 2,
						y: 36,
						diameter: 36,
						fill: byState(colors.raised, colors.accent),
						stroke: colors.raisedEdge,
						border: 1,
					}),
				],
			}),
		],
	});
}
