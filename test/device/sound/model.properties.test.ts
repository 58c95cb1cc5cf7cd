/** Sounds, chimes, buttons, updates, cuts and restarts in any order, against a model of what a person may expect. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Command } from "../../../device/protocol/messages.js";
import type { SoundUpdate } from "../../../device/sound/sounds.js";
import { runs } from "../../support/property-runs.js";
import { bytesPerSecond, noise, wav } from "../../support/sounds.js";
import { MemoryServer } from "../update/server.js";
import { clock } from "../update/timer.js";
import { Rig } from "./rig.js";

const url = "http://10.0.0.1/sound.wav";
const seconds = 12;

interface Asked {
	readonly id: string;
	readonly volume: number | undefined;
	readonly states: SoundUpdate["state"][];
	end?: SoundUpdate;
}

/** What a person and the gateway know. */
class World {
	readonly server = new MemoryServer({ file: wav(noise(seconds * bytesPerSecond)), segmentMs: 40 });
	readonly asked = new Map<string, Asked>();
	/** As a person has left it. */
	volume = 50;
	/** The last one that was not 0. */
	audible = 50;
	isMuted = false;
	/** Of the sound that plays or is paused. */
	soundVolume: number | undefined;
	isUpdating = false;
	#rig = this.#start();

	get rig(): Rig {
		return this.#rig;
	}

	/** Power is not cut: the device says what it stops. */
	restart(): void {
		this.#rig.sounds.onRestart();
		clock.clear();
		this.isUpdating = false;
		this.isMuted = this.volume === 0;
		this.audible = this.volume || 50;
		this.#rig = this.#start();
	}

	execute(command: Command): boolean {
		return this.#rig.execute(command) === undefined;
	}

	setVolume(volume: number): void {
		this.volume = volume;
		if (volume > 0) this.audible = volume;
		this.soundVolume = undefined;
	}

	#start(): Rig {
		return new Rig({
			server: this.server,
			volume: this.volume,
			onUpdate: (update) => this.#onUpdate(update),
		});
	}

	#onUpdate(update: SoundUpdate): void {
		const sound = this.asked.get(update.id);
		assert.ok(sound, `an update of ${update.id}, which was not asked for`);
		assert.equal(sound.end, undefined, `${update.id} has ended, and is ${update.state}`);
		const expected: readonly string[] = {
			none: ["ready", "playing", "stopped", "failed"],
			ready: ["playing", "stopped", "failed"],
			playing: ["played", "stopped", "failed"],
		}[sound.states.at(-1) === "ready" ? "ready" : sound.states.at(-1) === "playing" ? "playing" : "none"];
		assert.ok(expected.includes(update.state), `${sound.states} → ${update.state}`);
		sound.states.push(update.state);
		// A report may follow in the same turn.
		const { player_state, current_track } = this.#rig.audio.report;
		const isActive = player_state === "playing" || player_state === "paused";
		assert.equal(isActive, current_track !== "none", `${player_state}, ${current_track}`);
		if (update.state === "ready") return;
		if (update.state === "playing") {
			this.soundVolume = sound.volume;
			return;
		}
		if (sound.states.includes("playing")) this.soundVolume = undefined;
		sound.end = update;
		assert.ok((update.heard_ms ?? -1) >= 0 && (update.heard_ms ?? 0) <= seconds * 1000);
		if (update.state === "played") assert.equal(update.heard_ms, seconds * 1000);
		assert.equal(update.reason === undefined, update.state === "played");
	}

	check(): void {
		const { audio, codec, sounds } = this.#rig;
		sounds.flush();
		assert.equal(audio.lastingVolume, this.volume);
		const { volume, player_state, current_track } = audio.report;
		assert.equal(volume, this.soundVolume ?? this.volume);
		assert.equal(codec.volume, volume);
		const playing = [...this.asked.values()].filter(({ states, end }) => states.includes("playing") && !end);
		assert.ok(playing.length <= 1);
		const isActive = player_state === "playing" || player_state === "paused";
		assert.equal(isActive, current_track !== "none");
		const [sound] = playing;
		if (sound) assert.equal(current_track, `file:///sounds/${sound.id}`);
		else assert.ok(!current_track.startsWith("file:///sounds/"), current_track);
		if (!isActive && playing.length === 0) assert.equal(this.soundVolume, undefined);
	}
}

type Step = (world: World) => void;

const id = fc.constantFrom("a", "b", "c");
const plays = fc
	.record({
		volume: fc.option(fc.nat({ max: 100 }), { nil: undefined }),
		ready: fc.option(fc.boolean(), { nil: undefined }),
	})
	.map(
		({ volume, ready }): Step =>
			(world) => {
				const name = `s${world.asked.size}`;
				const value = {
					id: name,
					url,
					...(volume !== undefined && { volume }),
					...(ready !== undefined && { ready }),
				};
				world.asked.set(name, { id: name, volume, states: [] });
				const isAccepted = world.execute({ command: "play_sound", value });
				assert.equal(isAccepted, !world.isUpdating);
				if (!isAccepted) world.asked.delete(name);
			},
	);
const starts = fc.nat({ max: 30 }).map(
	(index): Step =>
		(world) => {
			world.execute({ command: "start_sound", value: { id: `s${Math.min(index, world.asked.size - 1)}` } });
		},
);
const startsLast: fc.Arbitrary<Step> = fc.constant((world) => {
	world.execute({ command: "start_sound", value: { id: `s${world.asked.size - 1}` } });
});
const stops: fc.Arbitrary<Step> = fc.constant((world) => {
	world.execute({ command: "stop_sound" });
	assert.ok(
		[...world.asked.values()].every(({ end }) => end),
		"nothing goes on",
	);
});
const stopsOther = id.map(
	(other): Step =>
		(world) => {
			world.execute({ command: "stop_sound", value: { id: `another-${other}` } });
		},
);
const presses = fc.constantFrom("play", "mute", "volumeUp", "volumeDown").map(
	(name): Step =>
		(world) => {
			const { isMuted, audible } = world;
			const now = world.soundVolume ?? world.volume;
			if (name === "mute") {
				world.isMuted = now !== 0;
				world.setVolume(now === 0 ? audible : 0);
			}
			if (name === "volumeUp" || name === "volumeDown") {
				const from = world.soundVolume ?? (isMuted ? audible : world.volume);
				world.isMuted = false;
				world.setVolume(Math.max(0, Math.min(100, from + (name === "volumeUp" ? 5 : -5))));
			}
			world.rig.press(name);
		},
);
const volumes = fc.nat({ max: 100 }).map(
	(value): Step =>
		(world) => {
			world.isMuted = value === 0;
			world.setVolume(value);
			world.execute({ command: "set_volume", value });
		},
);
const chimes: fc.Arbitrary<Step> = fc.constantFrom(
	(world) => void world.execute({ command: "play_audio", value: "startup" }),
	(world) => void world.execute({ command: "identify" }),
);
const updates: fc.Arbitrary<Step> = fc.constant((world) => {
	world.isUpdating = !world.isUpdating;
	world.rig.isUpdating = world.isUpdating;
	if (world.isUpdating)
		assert.ok(
			[...world.asked.values()].every(({ end }) => end),
			"nothing goes on",
		);
});
const cuts = fc.boolean().map(
	(isDown): Step =>
		(world) => {
			world.server.isDown = isDown;
			if (isDown) world.server.cut();
		},
);
const restarts: fc.Arbitrary<Step> = fc.constant((world) => world.restart());
const passes = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 8_000 })).map(
	(ms): Step =>
		(world) => {
			for (let left = ms; left > 0; left -= 500) {
				clock.pass(Math.min(left, 500));
				world.check();
			}
		},
);

test("each sound has exactly one end, and the volume stays as a person has left it", () => {
	fc.assert(
		fc.property(
			fc.array(
				fc.oneof(
					{ weight: 4, arbitrary: plays },
					{ weight: 16, arbitrary: passes },
					{ weight: 3, arbitrary: startsLast },
					{ weight: 1, arbitrary: starts },
					{ weight: 2, arbitrary: stops },
					{ weight: 1, arbitrary: stopsOther },
					{ weight: 6, arbitrary: presses },
					{ weight: 2, arbitrary: volumes },
					{ weight: 2, arbitrary: chimes },
					{ weight: 2, arbitrary: updates },
					{ weight: 5, arbitrary: cuts },
					{ weight: 1, arbitrary: restarts },
				),
				{ minLength: 5, maxLength: 60 },
			),
			(steps) => {
				clock.clear();
				const world = new World();
				for (const step of steps) {
					step(world);
					world.check();
				}
				world.server.isDown = false;
				// A paused sound ends after ten minutes; nothing else lasts that long.
				clock.pass(700_000);
				world.check();
				for (const { id: name, end } of world.asked.values()) assert.ok(end, `${name} has no end`);
				assert.equal(world.server.open, 0, "connections");
				assert.equal(clock.pending, 0, "timers");
			},
		),
		{ numRuns: runs(300) },
	);
});
