/** The LED ring, drawn from each frame that the firmware shows. */

import { colours, disc, drawSprite, plate, sprites, styles } from "./look.js";

const pixelCount = 12;
const size = 344;
const middle = size / 2;
const radius = 122;

/** What an LED's duty cycle looks like: the eye and the screen both bend it. */
const seen = (value) => (value / 255) ** (1 / 2.4);

class RingBehavior extends Behavior {
	onCreate() {
		this.frame = "0".repeat(pixelCount * 6);
	}

	onOutput(port, { ring, ready, aborted }) {
		if (ready || aborted) this.frame = "0".repeat(pixelCount * 6);
		else if (ring) this.frame = ring;
		else return;
		port.invalidate();
	}

	onDraw(port) {
		for (let index = 0; index < pixelCount; index++) {
			const angle = (index / pixelCount) * 2 * Math.PI;
			const x = middle + radius * Math.sin(angle);
			const y = middle - radius * Math.cos(angle);
			this.drawPixel(port, this.frame.slice(index * 6, index * 6 + 6), x, y);
		}
	}

	drawPixel(port, hex, x, y) {
		const [red, green, blue] = [0, 2, 4].map((at) => seen(Number.parseInt(hex.slice(at, at + 2), 16)));
		const peak = Math.max(red, green, blue);
		drawSprite(port, sprites.core, colours.raised, x, y);
		if (peak === 0) return;
		// The halo has the pure colour; the die itself is so bright, even when dimmed, that it looks whiter than it is.
		const pure = (value) => 255 * (value / peak);
		const bright = (value) => 255 * (0.85 * (value / peak) + 0.15);
		drawSprite(port, sprites.glow, rgba(pure(red), pure(green), pure(blue), peak), x, y);
		drawSprite(port, sprites.core, rgba(bright(red), bright(green), bright(blue), Math.sqrt(peak)), x, y);
		drawSprite(port, sprites.spark, rgba(255, 255, 255, 0.8 * peak), x, y);
	}
}

/** In the ring's middle: what the codec is set to, and what is heard. */
class VolumeBehavior extends Behavior {
	onOutput(label, { codec }) {
		if (codec) label.string = String(codec.volume);
	}
}

const barWidth = 96;

class VolumeBarBehavior extends Behavior {
	onOutput(content, { codec }) {
		if (codec) content.width = Math.max(4, Math.round((barWidth * codec.volume) / 100));
	}
}

class SoundBehavior extends Behavior {
	onCreate() {
		this.sound = null;
	}

	onOutput(label, { sound, ready }) {
		if (ready) label.string = "silent";
		if (sound === undefined) return;
		if (sound) {
			label.string = `playing ${sound.name}`;
			this.sound = { ...sound, endsAt: Date.now() + sound.lengthMs - sound.fromMs };
			return;
		}
		// Silenced well before its end, a sound can be taken up again.
		const remainingMs = this.sound ? this.sound.endsAt - Date.now() : 0;
		label.string = remainingMs > 60 ? `${this.sound.name}, held` : "silent";
		this.sound = null;
	}
}

export function Ring($, { left, top }) {
	return new Container($, {
		left,
		top,
		width: size,
		height: size,
		contents: [
			disc($, {
				x: middle,
				y: middle,
				diameter: 306,
				fill: colours.well,
				stroke: colours.edge,
				border: 1,
			}),
			Port($, { left: 0, top: 0, width: size, height: size, Behavior: RingBehavior }),
			disc($, {
				x: middle,
				y: middle,
				diameter: 186,
				fill: colours.body,
				stroke: colours.edge,
				border: 1,
			}),
			Label($, {
				left: 0,
				right: 0,
				top: middle - 58,
				height: 16,
				style: styles.caption,
				string: "VOLUME",
			}),
			Label($, {
				left: 0,
				right: 0,
				top: middle - 46,
				height: 56,
				style: styles.volume,
				string: "–",
				Behavior: VolumeBehavior,
			}),
			plate($, {
				left: middle - barWidth / 2,
				top: middle + 16,
				width: barWidth,
				height: 4,
				radius: 2,
				fill: colours.raised,
			}),
			plate($, {
				left: middle - barWidth / 2,
				top: middle + 16,
				width: 4,
				height: 4,
				radius: 2,
				fill: colours.accent,
				Behavior: VolumeBarBehavior,
			}),
			Label($, {
				left: 0,
				right: 0,
				top: middle + 30,
				height: 20,
				style: styles.sound,
				string: "silent",
				Behavior: SoundBehavior,
			}),
		],
	});
}
