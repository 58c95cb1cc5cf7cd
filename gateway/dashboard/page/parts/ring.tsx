/** LED ring of a device with a textual description. */

import { useEffect, useRef } from "preact/hooks";
import { ledState } from "../../../../device/peripherals/led-patterns.js";
import { boardModels } from "../../../../device/protocol/models.js";
import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import { useApp, useIsLive } from "../app/hooks.js";
import { Rings } from "../app/rings.js";
import { isPlaying } from "./presence.js";

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
	const app = useApp();
	app.rings ??= new Rings();
	const { rings } = app;
	const isLive = useIsLive();
	const canvas = useRef<HTMLCanvasElement>(null);
	const { session, state } = entry;
	const shown = isLive && session.connected ? state?.peripherals.led_ring : undefined;
	const { pixels } = boardModels[session.model ?? "DEV-1"];
	const id = Object.values(ledState).find((state) => state === shown?.state_id);
	const brightness = shown?.brightness_coef;
	const { color, effect, progress } = shown?.light ?? {};
	const isMoving =
		isPlaying(entry) ||
		id === ledState.updating ||
		isUpdating(session.metadata) ||
		app.pendingCommands.isPending(entry.key, "identify");
	useEffect(() => {
		const light = color !== undefined && effect ? { color, effect, progress } : undefined;
		const isUnknown = id === undefined || brightness === undefined;
		const appearance = isUnknown ? undefined : { state: id, brightness, light, isMoving };
		if (canvas.current) rings.show(canvas.current, pixels, appearance);
	}, [rings, pixels, id, brightness, color, effect, progress, isMoving]);
	useEffect(() => {
		const { current } = canvas;
		return () => current && rings.remove(current);
	}, [rings]);
	return (
		<div class={`ring ${isMoving ? "moving" : ""}`}>
			<canvas ref={canvas} role="img" aria-label={`LED ring: ${isLive ? ringText(entry) : "unknown"}`} />
		</div>
	);
}
