/** Views whose scripts come after the first one's: on a slow connection each kilobyte before the devices delays them. */

import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useIsLive } from "../app/hooks.js";
import { Problem } from "../parts/problem.js";

/** @returns a view that loads its script when it is first shown, or once `preload` is called */
export function onDemand<P extends object>(title: string, load: () => Promise<ComponentType<P>>) {
	let View: ComponentType<P> | undefined;
	const preload = async () => {
		View ??= await load();
	};
	const OnDemand = (props: P) => {
		const [, setIsLoaded] = useState(View !== undefined);
		const [problem, setProblem] = useState("");
		const isLive = useIsLive();
		const wasLost = useRef(false);
		useEffect(() => {
			if (problem && !isLive) wasLost.current = true;
			// A browser may keep that a script could not be loaded for as long as the page is open.
			else if (problem && wasLost.current) location.reload();
			preload().then(
				() => setIsLoaded(true),
				() => setProblem("This view could not be loaded. Reload the page."),
			);
		}, [isLive]);
		if (View) return <View {...props} />;
		return (
			<div class="empty">
				<h1 class="visually-hidden">{title}</h1>
				{problem ? <Problem>{problem}</Problem> : <p role="status">Loading…</p>}
			</div>
		);
	};
	return Object.assign(OnDemand, { preload, title });
}
