/**
 * Messages of Home Assistant's actions, by the function of homeassistant/components that sends them. Each action
 * fails where Home Assistant would reject it.
 */

import assert from "node:assert/strict";
import type { SimulatedEntity } from "./entity.js";

/** @returns the messages to publish, in order */
export type Action = (entity: SimulatedEntity) => readonly (readonly [topic: string, payload: string])[];

/** number/__init__.py, async_set_value; mqtt/number.py, async_set_native_value: no fraction for whole numbers. */
export function setValue(value: number): Action {
	return ({ entityId, config: { min, max, command_topic: topic } }) => {
		assert.ok(value >= Number(min) && value <= Number(max), `${entityId}: ${value} is out of range`);
		return [[String(topic), String(value)]];
	};
}

/** light/__init__.py, async_handle_light_on_service; mqtt/light/schema_basic.py, async_turn_on: one message each. */
export function turnOnLight({
	rgb,
	brightness,
	effect,
}: {
	readonly rgb?: readonly number[] | undefined;
	/** 0 to 255; undefined: the latest one above 0. */
	readonly brightness?: number | undefined;
	readonly effect?: string | undefined;
}): Action {
	return (light) => {
		if (brightness === 0) return send("OFF")(light);
		const { config } = light;
		assert.equal(config.on_command_type, "brightness");
		const scale = Number(config.brightness_scale);
		const scaled = Math.min(Math.round(((brightness ?? light.brightness ?? 255) / 255) * scale), scale);
		// Unlisted effects are silently ignored.
		const { effect_list: effects } = config;
		assert.ok(!effect || (Array.isArray(effects) && effects.includes(effect)), `${effect} is no effect`);
		return [
			...(rgb ? [[String(config.rgb_command_topic), rgb.join(",")] as const] : []),
			[String(config.brightness_command_topic), String(Math.max(scaled, 1))],
			...(effect ? [[String(config.effect_command_topic), effect] as const] : []),
		];
	};
}

/** siren/__init__.py, process_turn_on_params; mqtt/siren.py, async_turn_on. */
export function turnOnSiren(options: {
	readonly tone: string;
	/** Duration in seconds. */
	readonly duration?: number;
	/** 0 to 1. */
	readonly volume_level?: number;
}): Action {
	return (siren) => {
		const { available_tones: tones } = siren.config;
		assert.ok(Array.isArray(tones) && tones.includes(options.tone), `${options.tone} is no tone`);
		return send(JSON.stringify({ state: "ON", ...options }))(siren);
	};
}

/** Command topic of notify.py, async_send_message; button.py, async_press; switch.py, async_turn_on. */
export function send(payload: string): Action {
	return ({ config }) => [[String(config.command_topic), payload]];
}
