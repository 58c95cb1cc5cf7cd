/**
 * Buttons of the device, pressed with the mouse, or with P, M, + and - on macOS, where Piu delivers keyboard events. If the keys are
 * latched, a click presses a button and the next click releases it.
 */

import { byState, colors, disc, drawSprite, label, sprites, styles } from "./theme.js";

const diameter = 60;
export const keyWidth = 84;

const keys = Object.freeze([
	{ name: "volumeDown", label: "VOL −", key: "-" },
	{ name: "mute", label: "MUTE", key: "m" },
	{ name: "play", label: "PLAY", key: "p" },
	{ name: "volumeUp", label: "VOL +", key: "+" },
]);

class KeyBehavior extends Behavior {
	onCreate(_container, { name, key }) {
		this.name = name;
		this.key = key;
		this.isPressed = false;
		this.isLatched = false;
	}

	press(container, isPressed) {
		if (this.isPressed === isPressed) return;
		this.isPressed = isPressed;
		container.first.state = isPressed ? 1 : 0;
		container.first.next.state = isPressed ? 1 : 0;
		container.bubble("onButton", { name: this.name, isPressed });
	}

	onTouchBegan(container, id, x, y, ticks) {
		container.captureTouch(id, x, y, ticks);
		this.press(container, !(this.isLatched && this.isPressed));
	}

	onTouchEnded(container) {
		if (!this.isLatched) this.press(container, false);
	}

	onTouchCancelled(container) {
		this.onTouchEnded(container);
	}

	onLatch(container, isLatched) {
		this.isLatched = isLatched;
		if (!isLatched) this.press(container, false);
	}

	onKey(container, { key, isPressed }) {
		if (key === this.key) this.press(container, isPressed);
	}
}

class IconBehavior extends Behavior {
	onCreate(_port, { name }) {
		this.name = name;
	}

	onDraw(port) {
		const color = port.state ? colors.accent : colors.text;
		drawSprite(port, sprites[this.name], color, keyWidth / 2, diameter / 2 + 2);
	}
}

const Key = Container.template(($) => ({
	width: keyWidth,
	height: diameter + 24,
	active: true,
	Behavior: KeyBehavior,
	contents: [
		disc($, {
			x: keyWidth / 2,
			y: diameter / 2 + 2,
			diameter,
			fill: byState(colors.raised, colors.pressed),
			stroke: byState(colors.raisedEdge, colors.accent),
			border: 1,
		}),
		Port($, { left: 0, right: 0, top: 0, height: diameter + 4, Behavior: IconBehavior }),
		label($, { left: 0, right: 0, bottom: 0, height: 16 }, styles.button, $.label),
	],
}));

export function Keys(_$, { left, top }) {
	return new Row(null, { left, top, contents: keys.map((key) => new Key(key)) });
}
