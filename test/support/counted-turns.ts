import { extensions } from "../../gateway/extensions.js";

/** Extensions that count their yields to the event loop. */
export function countLoopTurns() {
	const turns = { count: 0 };
	const counted = extensions.map((create) => (core: Parameters<typeof create>[0]) => {
		const yieldToLoop = () => {
			turns.count += 1;
			return core.yieldToLoop();
		};
		return create({ ...core, yieldToLoop });
	});
	return { turns, extensions: counted };
}
