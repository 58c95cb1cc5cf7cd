/** LED ring, drawn from the frames of the firmware. */

import { colors, disc, drawSprite, label, plate, sprites, styles } from "./theme.js";

const size = 344;
const middle = size / 2;
const radius = 122;

/** Converts linear light to an sRGB value, both 0 to 1 (IEC 61966-2-1). */
const screenValue = (light) => (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
/** Perceived brightness of an LED: even a dim LED is bright compared to a screen. */
const visibility = (light) => 0.22 + 0.78 * light ** 0.45;

class RingBehavior extends Behavior {
	onCreate(_port, { pixels }) {
		this.pixels = pixels;
		this.frame = this.dark;
	}

	get dark() {
		return "0".repeat(this.pixels * 6);
	}

	onOutput(port, { ring, ready, aborted }) {
		if (ready || aborted) this.frame = this.dark;
		else if (ring) this.frame = ring;
		else return;
		port.invalidate();
	}

	onDraw(port) {
		const pixels = Array.from({ length: this.pixels }, (_, index) => this.pixel(index));
		// Draws all glows first, so that none covers a neighbor.
		for (const pixel of pixels) this.drawGlow(port, pixel);
		for (const pixel of pixels) this.drawCore(port, pixel);
	}

	/** Returns position, color at full brightness, and brightness (0 to 1) of a pixel. */
	pixel(index) {
		const angle = (index / this.pixels) * 2 * Math.PI;
		const hex = this.frame.slice(index * 6, index * 6 + 6);
		const channels = [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
		const strongest = Math.max(...channels);
		return {
			x: middle + radius * Math.sin(angle),
			y: middle - radius * Math.cos(angle),
			hue: channels.map((channel) => Math.round(255 * screenValue(channel / (strongest || 1)))),
			brightness: strongest === 0 ? 0 : visibility(strongest / 255),
		};
	}

	drawGlow(port, { x, y, hue, brightness }) {
		drawSprite(port, sprites.glow, rgba(...hue, 0.75 * brightness), x, y);
	}

	drawCore(port, { x, y, hue, brightness }) {
		drawSprite(port, sprites.core, colors.raised, x, y);
		drawSprite(port, sprites.core, rgba(...hue, brightness), x, y);
		// Draws the die, which is whiter than its light.
		drawSprite(port, sprites.spark, rgba(255, 255, 255, 0.8 * brightness), x, y);
	}
}

/** Volume of the codec, in the middle of the ring. */
class VolumeBehavior extends Behavior {
	onOutput(label, { volume }) {
		if (volume !== undefined) label.string = String(volume);
	}
}

/** Mute icon, shown at volume 0, which the firmware sets while muted. */
class MuteBehavior extends Behavior {
	onOutput(port, { volume, ready }) {
		if (ready) port.visible = false;
		if (volume !== undefined) port.visible = volume === 0;
	}

	onDraw(port) {
		drawSprite(port, sprites.mute, colors.bad, port.width / 2, port.height / 2);
	}
}

const barWidth = 96;
const bar = { left: middle - barWidth / 2, top: middle + 16, height: 4, radius: 2 };

class VolumeBarBehavior extends Behavior {
	onOutput(content, { volume }) {
		if (volume !== undefined) content.width = Math.max(4, Math.round((barWidth * volume) / 100));
	}
}

class SoundBehavior extends Behavior {
	onOutput(label, { isPlaying, ready, aborted }) {
		if (ready || aborted || isPlaying === false) label.string = "silent";
		else if (isPlaying) label.string = "playing";
	}
}

export function Ring($, { left, top }) {
	return new Container($, {
		left,
		top,
		width: size,
		height: size,
		contents: [
			disc($, { x: middle, y: middle, diameter: 306, fill: colors.well, stroke: colors.edge, border: 1 }),
			Port($, { left: 0, top: 0, width: size, height: size, Behavior: RingBehavior }),
			disc($, { x: middle, y: middle, diameter: 186, fill: colors.body, stroke: colors.edge, border: 1 }),
			label($, { left: 0, right: 0, top: middle - 58, height: 16 }, styles.caption, "VOLUME"),
			label($, { left: 0, right: 0, top: middle - 46, height: 56 }, styles.volume, "–", VolumeBehavior),
			plate($, { ...bar, width: barWidth, fill: colors.raised }),
			plate($, { ...bar, width: 4, fill: colors.accent, Behavior: VolumeBarBehavior }),
			label($, { left: 0, right: 0, top: middle + 30, height: 20 }, styles.sound, "silent", SoundBehavior),
			Port($, {
				left: middle - 16,
				top: middle + 50,
				width: 32,
				height: 32,
				visible: false,
				Behavior: MuteBehavior,
			}),
		],
	});
}
