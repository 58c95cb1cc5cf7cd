/** Scales the volumes of devices together. */

/** Volumes from 0 to 100 by device id. */
export type Volumes = ReadonlyMap<string, number>;

/**
 * Scales volumes proportionally.
 *
 * @param moves previous result: the initial volumes, then those that were set
 * @param now reported volumes
 * @param to volume of the loudest device
 * @returns the moves; the last one is to be set now
 */
export function moveVolumes(
	moves: readonly Volumes[],
	now: Volumes,
	to: number,
): readonly [from: Volumes, ...set: Volumes[]] {
	const isMoved = [...now].every(([key, volume]) => moves.some((move) => move.get(key) === volume));
	const [from = now, ...set] = isMoved ? moves : [];
	const most = Math.max(...[...now.keys()].map((key) => from.get(key) ?? 0));
	const moved = (volume: number) =>
		most === 0 ? to : Math.max(Math.min(1, volume, to), Math.round((volume * to) / most));
	const next = new Map([...now.keys()].map((key) => [key, moved(from.get(key) ?? 0)]));
	// Reports of the previous moves may still arrive.
	return [from, ...set.slice(-2), next];
}
