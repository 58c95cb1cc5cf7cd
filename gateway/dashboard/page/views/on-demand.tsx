/** Lazily loaded views, which keep the first bundle small. */

import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useIsLive } from "../app/hooks.js";
import { PageHead } from "../parts/page-head.js";
import { Problem } from "../parts/problem.js";

/**
 * @param title of the view, shown while it loads; empty for a part of a view; undefined for a part that is absent until it is loaded,
 * which is tried after each connection
 * @returns a view that loads its script when first shown or preloaded
 */
export function onDemand<P extends object>(title: string | undefined, load: () => Promise<ComponentType<P>>) {
	const isOptional = title === undefined;
	let View: ComponentType<P> | undefined;
	const preload = async () => {
		View ??= await load();
	};
	const Lazy = (props: P) => {
		const [, setIsLoaded] = useState(View !== undefined);
		const [problem, setProblem] = useState("");
		const isLive = useIsLive();
		const wasLost = useRef(false);
		useEffect(() => {
			if (isOptional && !isLive) return;
			if (problem && !isLive) wasLost.current = true;
			// Browsers may cache the failure of a script for the lifetime of the page.
			else if (problem && wasLost.current) location.reload();
			preload().then(
				() => setIsLoaded(true),
				() => isOptional || setProblem("This view could not be loaded. Reload the page."),
			);
		}, [isLive]);
		if (View) return <View {...props} />;
		if (isOptional) return null;
		return (
			<div>
				{title && <PageHead title={title} />}
				{problem ? <Problem>{problem}</Problem> : <p role="status">Loading…</p>}
			</div>
		);
	};
	return Object.assign(Lazy, { preload, title });
}
