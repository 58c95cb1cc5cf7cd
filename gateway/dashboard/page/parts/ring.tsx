/** LED ring of a device, drawn with the firmware's own patterns, and a textual description. */

import type { PixelStrip } from "../../../../device/host.js";
import { ledState, lightOverlay, patternOf } from "../../../../device/peripherals/led-patterns.js";
import type { StateReport } from "../../../../device/protocol/messages.js";
import { boardModels } from "../../../../device/protocol/models.js";
import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import { useApp, useIsLive, useNow } from "../app/hooks.js";
import { isPlaying } from "./presence.js";

type LedRing = StateReport["peripherals"]["led_ring"];

/** Descriptions of the states by id. They name no cause, since a user may have chosen the preset. */
const stateTexts: readonly string[] = [
	"off",
	"flashing red",
	"red",
	"flashing orange",
	"orange",
	"rainbow",
	"pulsing blue",
];

/** Describes what a ring shows. */
function ringText({ session, state }: Entry): string {
	const ring = state?.peripherals.led_ring;
	if (!session.connected || !ring) return "unknown";
	const { light, state_id: id } = ring;
	const text = light ? `light ${light.color}, ${light.effect}` : (stateTexts[id] ?? ring.state_name);
	return id === 0 && !light ? text : `${text}, ${Math.round(ring.brightness_coef * 100)}%`;
}

/** Ring that is still and dim, and moves only for a sound, an update and while the device is identified. */
export function Ring({ entry }: { entry: Entry }) {
	const { pendingCommands } = useApp();
	const isLive = useIsLive();
	const { session, state } = entry;
	const shown = isLive && session.connected ? state?.peripherals.led_ring : undefined;
	const isMoving =
		isPlaying(entry) ||
		shown?.state_id === ledState.updating ||
		isUpdating(session.metadata) ||
		pendingCommands.isPending(entry.key, "identify");
	const isStill = !isMoving || matchMedia("(prefers-reduced-motion: reduce)").matches;
	const now = useNow(shown && !isStill ? intervalOf(shown) : undefined);
	const { pixels } = boardModels[session.model ?? "DEV-1"];
	const time = shown && isStill ? brightestMs(shown) : now;
	const stops = shown
		? colorsOf(pixels, shown, time).map((color) => stopsOf(color, isMoving ? 1 : restAlpha))
		: Array<string>(pixels).fill(unknownPixel);
	return (
		<div
			class={`ring ${shown ? "" : "unknown"}`}
			role="img"
			aria-label={`LED ring: ${isLive ? ringText(entry) : "unknown"}`}
			style={{ "--pixels": gradientsOf(stops) }}
		/>
	);
}

/** Fractions of the width: radius of the ring, and diameter of a glowing pixel on a ring of up to 12. */
const radius = 0.385;
const glowSize = 0.226;
/** Shortest interval of frames: a list of playing devices is painted without a GPU, too. */
const minFrameMs = 80;
/** Opacity of the pixels of a ring at rest. */
const restAlpha = 0.7;
const unknownPixel = "#8a918d3d 46%, transparent 48%";

function shownBy({ state_id: id, light }: LedRing) {
	if (light) return lightOverlay(light);
	return patternOf(Object.values(ledState).find((state) => state === id) ?? ledState.off);
}

/** Interval of the frames; 0 for a still pattern. */
function intervalOf(ring: LedRing): number {
	const interval = shownBy(ring).frameMs;
	return interval && Math.max(interval, minFrameMs);
}

/** Time at which the pattern is brightest, for a still ring. */
function brightestMs({ state_id: id, light }: LedRing): number {
	return id === ledState.updating || light?.effect === "breathe" ? 1500 : 0;
}

/** Colors that the firmware would set. */
function colorsOf(length: number, ring: LedRing, timeMs: number): readonly number[] {
	const colors = new Array<number>(length).fill(0);
	const strip: PixelStrip = {
		length,
		makeRGB: (red, green, blue) => (red << 16) | (green << 8) | blue,
		setPixel: (index, color) => {
			colors[index] = color;
		},
		update() {},
	};
	shownBy(ring).paint(strip, timeMs, ring.brightness_coef);
	return colors;
}

/** Color stops of a pixel: a bright core and a glow. Strip values are linear in light; the exponents map them to perceived brightness. */
function stopsOf(color: number, alpha: number): string {
	const channels = [(color >> 16) & 255, (color >> 8) & 255, color & 255];
	const strongest = Math.max(...channels);
	if (strongest === 0) return "#333936 46%, transparent 48%";
	const hue = channels.map((channel) => 255 * (channel / strongest) ** 0.7);
	const core = hue.map((channel) => channel + (255 - channel) * 0.45);
	const brightness = alpha * (0.22 + 0.78 * (strongest / 255) ** 0.45);
	const light = (rgb: readonly number[], share: number) =>
		`rgb(${rgb.map(Math.round).join(" ")} / ${(share * brightness).toFixed(3)})`;
	return `${light(core, 1)} 22%, ${light(hue, 1)} 26% 45%, ${light(hue, 0.4)} 49%, ${light(hue, 0)}`;
}

/** CSS backgrounds of the pixels: the first is at the top, the others follow clockwise. */
function gradientsOf(stops: readonly string[]): string {
	const size = glowSize * Math.min(1, 12 / stops.length);
	const percent = (share: number) => `${(100 * share).toFixed(2)}%`;
	// CSS aligns the same percentage of the image and of the element.
	const place = (center: number) => percent((0.5 + radius * center - size / 2) / (1 - size));
	return stops
		.map((colors, index) => {
			const angle = (2 * Math.PI * index) / stops.length;
			const position = `${place(Math.sin(angle))} ${place(-Math.cos(angle))}`;
			return `radial-gradient(closest-side, ${colors}) ${position} / ${percent(size)} ${percent(size)} no-repeat`;
		})
		.join();
}
