/**
 * Sounds with and without priority, chimes, buttons, quiet hours, updates, power cuts and restarts in any order,
 * compared with a model.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Command, CommandOf } from "../../../device/protocol/messages.js";
import type { SoundUpdate } from "../../../device/sound/results.js";
import { runs } from "../../support/property-runs.js";
import { wav } from "../../support/sounds.js";
import { MemoryServer } from "../update/server.js";
import { clock } from "../update/timer.js";
import { chimeLevel, chimeSamples } from "./resource.js";
import { loudNoise, Memory, Rig } from "./rig.js";

const url = "http://10.0.0.1/sound.wav";
const seconds = 5;
const rate = 16_000;
const silentSamples = 0.3 * rate;

const samples = loudNoise(seconds * rate);

type State = SoundUpdate["state"];
type Request = CommandOf<"play_sound">["value"];

interface Asked {
	readonly request: Request;
	readonly states: State[];
	/** Whether its latest playback began with its chime. */
	isChimeFirst: boolean;
	/** Whether the volume was set by hand during playback. */
	isVolumeOverridden: boolean;
	end?: SoundUpdate;
}

const ends: readonly State[] = ["stopped", "failed"];
/** Possible next states. `expired` and `playing` apply only before the sound was heard, `resumed` only after. */
const following: Readonly<Partial<Record<State | "none", readonly State[]>>> = {
	none: ["waiting", "ready", "playing", "expired", ...ends],
	waiting: ["waiting", "ready", "playing", "resumed", "expired", ...ends],
	ready: ["waiting", "playing", "resumed", "expired", ...ends],
	playing: ["waiting", "played", ...ends],
	resumed: ["waiting", "played", ...ends],
};

/** Model of the player, as a user and the gateway see it. */
class World {
	readonly server = new MemoryServer({ file: wav(new Uint8Array(samples.buffer)), segmentMs: 40 });
	readonly asked = new Map<string, Asked>();
	/** Sounds by id. */
	readonly heard = new Map<string, Int16Array[]>();
	/** Volume set by hand. */
	volume = 50;
	/** Last volume above 0. */
	audible = 50;
	isUpdating = false;
	quiet: CommandOf<"set_quiet">["value"] = null;
	readonly memory = new Memory();
	/** Id of the sound whose latest update may be sent again. */
	#repeatedId: string | undefined;
	/** Id of the sound that played last. */
	#last: string | undefined;
	/** Ids of sounds before the latest restart. */
	readonly #forgotten = new Set<string>();
	#rig = this.#start();

	get rig(): Rig {
		return this.#rig;
	}

	/** Stops for a restart: without a power cut the device reports the sounds it stops. */
	restart(): void {
		this.#rig.sounds.onRestart();
		this.collectHeard();
		clock.clear();
		for (const id of this.asked.keys()) if (id !== this.#last) this.#forgotten.add(id);
		this.isUpdating = false;
		this.audible = this.volume || 50;
		this.#rig = this.#start();
		this.execute({ command: "set_quiet", value: this.quiet });
	}

	execute(command: Command): boolean {
		return this.#rig.execute(command) === undefined;
	}

	/** Executes a command for a known sound, which resends that sound's latest update. */
	repeat(command: Command, id: string): boolean {
		this.#repeatedId = id;
		const isExecuted = this.execute(command);
		this.#repeatedId = undefined;
		return isExecuted;
	}

	setVolume(volume: number): void {
		this.volume = volume;
		if (volume > 0) this.audible = volume;
		if (this.current) this.current.isVolumeOverridden = true;
	}

	/** Sounds that have not ended. */
	get pending(): readonly Asked[] {
		return [...this.asked.values()].filter(({ end }) => !end);
	}

	/** Sound that plays or is paused. */
	get current(): Asked | undefined {
		return this.pending.find(({ states }) => ["playing", "resumed"].includes(states.at(-1) ?? ""));
	}

	/** Possible volumes of the current sound. In the silence after its chime both apply. */
	get ownVolumes(): readonly (number | undefined)[] {
		const { current } = this;
		if (!current || current.isVolumeOverridden) return [undefined];
		const { volume, chime_volume = volume, priority } = current.request;
		const own = [chime_volume, volume].map((asked) => {
			if (priority === undefined || this.volume > 0) return asked;
			return priority === "urgent" ? (asked ?? this.audible) : undefined;
		});
		const heard = this.#rig.audio.heardBytes / 2;
		if (!current.isChimeFirst || heard >= chimeSamples + silentSamples) return own.slice(1);
		return heard < chimeSamples ? own.slice(0, 1) : own;
	}

	collectHeard(): void {
		for (const { uri, samples: some } of this.#rig.heard) {
			const name = uri.replace("file:///sounds/", "");
			if (this.asked.has(name)) this.heard.set(name, [...(this.heard.get(name) ?? []), some]);
		}
	}

	#start(): Rig {
		return new Rig({
			server: this.server,
			volume: this.volume,
			memory: this.memory,
			onUpdate: (update) => this.#onUpdate(update),
		});
	}

	/** Sounds that the device knows, latest last. */
	get known(): readonly string[] {
		return [...this.asked.keys()].filter((id) => !this.#forgotten.has(id)).slice(-16);
	}

	#onUpdate(update: SoundUpdate): void {
		const sound = this.asked.get(update.id);
		assert.ok(sound, `update of the unknown sound ${update.id}`);
		const { states, request, end } = sound;
		if (update.id === this.#repeatedId && (end ?? update.state === states.at(-1)))
			return assert.deepEqual(update, end ?? { id: update.id, state: update.state });
		assert.equal(end, undefined, `${update.id} has ended and is ${update.state}`);
		const wasHeard = states.includes("playing");
		const expected = following[states.at(-1) ?? "none"]?.filter((state) => {
			if (state === "resumed") return wasHeard;
			return state === "playing" || state === "expired" ? !wasHeard : true;
		});
		assert.ok(expected?.includes(update.state), `${states} → ${update.state}`);
		states.push(update.state);
		// A report may follow in the same turn.
		const { player_state, current_track } = this.#rig.audio.report;
		const isActive = player_state === "playing" || player_state === "paused";
		assert.equal(isActive, current_track !== "none", `${player_state}, ${current_track}`);
		switch (update.state) {
			case "waiting":
			case "ready":
				return;
			case "playing":
			case "resumed":
				assert.ok(
					!this.quiet?.only_urgent || request.priority === "urgent",
					"non-urgent sound in quiet hours",
				);
				sound.isChimeFirst = request.chime !== undefined && this.#rig.audio.heardBytes === 0;
				this.#last = update.id;
				return;
			default:
				sound.end = update;
				assert.ok(
					(update.heard_ms ?? -1) >= 0 && (update.heard_ms ?? 0) <= seconds * 1000,
					`${update.heard_ms} ms heard of ${seconds} s`,
				);
				if (update.state === "played") assert.equal(update.heard_ms, seconds * 1000);
				assert.equal(update.reason === undefined, update.state === "played" || update.state === "expired");
		}
	}

	check(): void {
		const { audio, codec, sounds } = this.#rig;
		sounds.flush();
		assert.equal(audio.baseVolume, this.volume);
		const { volume, player_state, current_track } = audio.report;
		const volumes = this.ownVolumes.map((own) => own ?? this.volume);
		assert.ok(volumes.includes(volume), `${volume} instead of ${volumes.join(" or ")}`);
		const { current, pending } = this;
		const isUrgent = current?.request.priority === "urgent";
		assert.equal(codec.volume, Math.min(volume, isUrgent ? 100 : (this.quiet?.volume ?? 100)));
		const isActive = player_state === "playing" || player_state === "paused";
		assert.equal(isActive, current_track !== "none");
		if (current) assert.equal(current_track, `file:///sounds/${current.request.id}`);
		else assert.ok(!current_track.startsWith("file:///sounds/"), current_track);
		const hasUrgent = pending.some(({ request }) => request.priority === "urgent");
		assert.ok(pending.length <= 3 + Number(hasUrgent), `${pending.length} sounds pending`);
		const isUrgentWaiting = pending.some(
			({ request, states }) => request.priority === "urgent" && states.at(-1) === "waiting",
		);
		assert.ok(!isUrgentWaiting || !current || isUrgent, "an urgent sound waits for another one");
	}

	/** Checks that each sound was heard from its start, without lost or repeated samples, up to its reported end. */
	checkHeard(): void {
		this.collectHeard();
		for (const [name, parts] of this.heard) {
			const { request, end } = this.asked.get(name) ?? assert.fail(name);
			const positions = positionsAfter(parts, request.chime !== undefined);
			const heardMs = positions.map((position) => Math.floor((Math.max(0, position) * 1000) / rate));
			assert.ok(heardMs.includes(end?.heard_ms ?? -1), `${name}: ${heardMs}, reported as ${end?.heard_ms}`);
		}
	}
}

/**
 * Follows the recording of a sound: its chime, which may restart until a sample was heard, and its samples, with
 * silence anywhere. Faded samples are quieter; the first one of a fade is 0, so two positions are possible.
 * @returns possible final positions in its samples; below 0: in its chime; empty: the recording does not match
 */
function positionsAfter(parts: readonly Int16Array[], hasChime: boolean): readonly number[] {
	let positions = hasChime ? [-chimeSamples] : [0];
	for (const part of parts) {
		if (hasChime && positions.some((position) => position <= 0)) positions = [-chimeSamples, ...positions];
		let previous = 1;
		for (const heard of part) {
			if (heard !== 0) {
				positions = positions
					.filter((position) => {
						const sample = position < 0 ? chimeLevel : (samples[position] ?? 0);
						return sample * heard > 0 && Math.abs(heard) <= Math.abs(sample);
					})
					.map((position) => position + 1);
			} else if (previous !== 0) {
				positions = [...new Set(positions.flatMap((position) => [position, position + 1]))];
			}
			previous = heard;
		}
	}
	return positions;
}

type Step = (world: World) => void;

const wanted = fc.record(
	{
		volume: fc.nat({ max: 100 }),
		ready: fc.boolean(),
		priority: fc.constantFrom("low", "normal", "urgent"),
		expires: fc.integer({ min: 1, max: 20 }),
		chime: fc.constant("attention"),
		chime_volume: fc.integer({ min: 1, max: 100 }),
	} as const,
	{ requiredKeys: [] },
);
const play = (world: World, options: Omit<Request, "id" | "url">) => {
	const id = `s${world.asked.size}`;
	const request: Request = { ...options, id, url };
	const { priority } = request;
	const before = world.pending.length;
	const isBarred = world.quiet?.only_urgent === true && priority !== "urgent";
	const isFull = priority !== undefined && before >= 3 + Number(priority === "urgent");
	const asked: Asked = { request, states: [], isChimeFirst: false, isVolumeOverridden: false };
	world.asked.set(id, asked);
	const isAccepted = world.execute({ command: "play_sound", value: request });
	assert.equal(isAccepted, !world.isUpdating && (isBarred || !isFull));
	if (!isAccepted) world.asked.delete(id);
	else if (isBarred) {
		assert.deepEqual([asked.end?.state, asked.end?.reason], ["stopped", "quiet hours"]);
		assert.equal(world.pending.length, before, "other sounds continue");
	}
};
const plays = wanted.map((request): Step => {
	return (world) => play(world, request);
});
/** Interrupts a sound during its chime or soon after. */
const chimesAreDisturbed = fc
	.record({
		request: wanted,
		afterMs: fc.nat({ max: 1_800 }),
		pauseMs: fc.nat({ max: 200 }),
		isUrgent: fc.boolean(),
	})
	.map(({ request, afterMs, pauseMs, isUrgent }): Step => {
		return (world) => {
			play(world, { ...request, chime: "attention", ready: false });
			clock.pass(afterMs);
			world.check();
			if (isUrgent) return play(world, { priority: "urgent" });
			for (let press = 0; press < 2; press++) {
				world.rig.press("play");
				clock.pass(pauseMs);
				world.check();
			}
		};
	});
/** Repeats commands, as a gateway does after it was killed. */
const repeats = fc.nat({ max: 15 }).map((index): Step => {
	return (world) => {
		const { known, pending, rig, memory } = world;
		const id = known[index % known.length];
		const request = id === undefined ? undefined : world.asked.get(id)?.request;
		if (!request) return;
		const { writes } = memory;
		const { report } = rig.audio;
		assert.equal(world.repeat({ command: "play_sound", value: request }, request.id), true);
		assert.deepEqual([world.pending, rig.audio.report, memory.writes], [pending, report, writes]);
	};
});
const starts = fc.nat({ max: 30 }).map((index): Step => {
	return (world) => {
		const id = `s${Math.min(index, world.asked.size - 1)}`;
		world.repeat({ command: "start_sound", value: { id } }, id);
	};
});
const startsLast: fc.Arbitrary<Step> = fc.constant((world) => {
	const id = `s${world.asked.size - 1}`;
	world.repeat({ command: "start_sound", value: { id } }, id);
});
const stops: fc.Arbitrary<Step> = fc.constant((world) => {
	world.execute({ command: "stop_sound" });
	assert.deepEqual(world.pending, [], "pending sounds after the update");
});
const stopsOne = fc.nat({ max: 3 }).map((index): Step => {
	return (world) => {
		const { pending } = world;
		const sound = pending[index];
		world.execute({ command: "stop_sound", value: { id: sound?.request.id ?? "another" } });
		const others = pending.filter((queued) => queued !== sound);
		assert.deepEqual(world.pending, others);
	};
});
const presses = fc.constantFrom("play", "mute", "volumeUp", "volumeDown").map((name): Step => {
	return (world) => {
		const { audible, volume } = world;
		const now = world.rig.audio.volume;
		if (name === "mute") {
			world.setVolume(now === 0 ? audible : 0);
		}
		if (name === "volumeUp" || name === "volumeDown") {
			const own = world.ownVolumes.find((ownVolume) => (ownVolume ?? volume) === now);
			const from = own ?? audible;
			world.setVolume(Math.max(0, Math.min(100, from + (name === "volumeUp" ? 5 : -5))));
		}
		const before = world.rig.audio.report.current_track;
		world.rig.press(name);
		if (world.quiet?.only_urgent) assert.equal(world.rig.audio.report.current_track, before);
	};
});
const volumes = fc.nat({ max: 100 }).map((value): Step => {
	return (world) => {
		world.setVolume(value);
		world.execute({ command: "set_volume", value });
	};
});
const mutes = fc.boolean().map((value): Step => {
	return (world) => {
		if (value || world.volume === 0) world.setVolume(value ? 0 : world.audible);
		world.execute({ command: "set_mute", value });
		const { muted, unmuted_volume } = world.rig.audio.report;
		assert.deepEqual([muted, unmuted_volume], [value, value ? world.audible : undefined]);
	};
});
const chimes = fc.constantFrom<Command>({ command: "play_audio", value: "startup" }, { command: "identify" });
const playsChime = chimes.map((command): Step => {
	return (world) => {
		const { current, rig } = world;
		const before = rig.audio.report.current_track;
		const isAllowed = world.quiet?.only_urgent !== true && current?.request.priority !== "urgent";
		const isAccepted = world.execute(command);
		if (world.isUpdating) return assert.equal(isAccepted, false);
		assert.equal(isAccepted, isAllowed || command.command === "identify");
		assert.equal(rig.audio.report.current_track, isAllowed ? "file:///chimes/startup" : before);
	};
});
const quietHours = fc
	.option(fc.record({ volume: fc.nat({ max: 100 }), only_urgent: fc.boolean() }, { requiredKeys: [] }))
	.map((limits): Step => {
		return (world) => {
			const { current } = world;
			world.quiet = limits && { id: "n1", periods: [{ from: 0, until: 1 }], ...limits };
			assert.equal(world.execute({ command: "set_quiet", value: world.quiet }), true);
			assert.equal(world.current, current, "the current sound continues");
		};
	});
const updates: fc.Arbitrary<Step> = fc.constant((world) => {
	world.isUpdating = !world.isUpdating;
	world.rig.isUpdating = world.isUpdating;
	if (world.isUpdating) assert.deepEqual(world.pending, [], "pending sounds after the update");
});
const cuts = fc.boolean().map((isDown): Step => {
	return (world) => {
		world.server.isDown = isDown;
		if (isDown) world.server.cut();
	};
});
const restarts: fc.Arbitrary<Step> = fc.constant((world) => {
	world.restart();
	assert.deepEqual(world.pending, [], "pending sounds after the restart");
});
const passes = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 8_000 })).map((ms): Step => {
	return (world) => {
		for (let left = ms; left > 0; left -= 500) {
			clock.pass(Math.min(left, 500));
			world.check();
		}
	};
});

test("each sound ends once without lost or repeated samples, and the volume set by hand persists", (t) => {
	// Retries use random delays; runs must be reproducible.
	let random = 0;
	t.mock.method(Math, "random", () => {
		random = (random + 0.618) % 1;
		return random;
	});
	const seen = new Set<string>();
	fc.assert(
		fc.property(
			fc.array(
				fc.oneof(
					{ weight: 7, arbitrary: plays },
					{ weight: 4, arbitrary: chimesAreDisturbed },
					{ weight: 16, arbitrary: passes },
					{ weight: 3, arbitrary: startsLast },
					{ weight: 1, arbitrary: starts },
					{ weight: 4, arbitrary: repeats },
					{ weight: 1, arbitrary: stops },
					{ weight: 1, arbitrary: stopsOne },
					{ weight: 6, arbitrary: presses },
					{ weight: 2, arbitrary: volumes },
					{ weight: 1, arbitrary: mutes },
					{ weight: 1, arbitrary: playsChime },
					{ weight: 2, arbitrary: quietHours },
					{ weight: 1, arbitrary: updates },
					{ weight: 4, arbitrary: cuts },
					{ weight: 1, arbitrary: restarts },
				),
				{ minLength: 5, maxLength: 60 },
			),
			(steps) => {
				clock.clear();
				random = 0;
				const world = new World();
				for (const step of steps) {
					step(world);
					world.check();
				}
				world.server.isDown = false;
				// A paused sound ends after ten minutes, which is the longest duration.
				clock.pass(800_000);
				world.check();
				assert.deepEqual(world.pending, [], "pending sounds");
				world.checkHeard();
				assert.equal(world.server.open, 0, "connections");
				assert.equal(clock.pending, 0, "timers");
				for (const { states, isChimeFirst } of world.asked.values())
					for (const state of states) seen.add(isChimeFirst ? `${state} with a chime` : state);
			},
		),
		{ numRuns: runs(300) },
	);
	for (const state of ["waiting", "played", "stopped", "playing with a chime", "played with a chime"])
		assert.ok(seen.has(state), `none was ${state}`);
});

test("a sound that arrives between two others waits for the one that was queued before", () => {
	clock.clear();
	const world = new World();
	const request = { priority: "normal" } as const;
	play(world, request);
	play(world, request);
	clock.pass(2_000);
	const { sounds } = world.rig;
	const states = () => [...world.asked.values()].map((sound) => sound.states.at(-1));
	assert.deepEqual(states(), ["playing", "waiting"]);
	sounds.execute({ command: "stop_sound", value: { id: "s0" } });
	// Before the end of the turn in which the next sound starts.
	play(world, request);
	clock.pass(2_000);
	assert.deepEqual(states(), ["stopped", "playing", "waiting"]);
	clock.pass(20_000);
	assert.deepEqual(states(), ["stopped", "played", "played"]);
	world.checkHeard();
});
