/** A view whose script is loaded when it is opened, since few visits need it. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../parts/problem.js";

interface OnDemandProps<P extends object> {
	readonly title: string;
	readonly load: () => Promise<ComponentType<P>>;
	readonly with: P;
}

export function OnDemand<P extends object>({ title, load, with: props }: OnDemandProps<P>) {
	const [loaded, setLoaded] = useState<{ readonly View: ComponentType<P> }>();
	const [problem, setProblem] = useState("");
	useEffect(() => {
		load().then(
			(View) => setLoaded({ View }),
			() => setProblem("This view could not be loaded. Reload the page."),
		);
	}, [load]);
	if (loaded) return <loaded.View {...props} />;
	return (
		<div class="empty">
			<h1 class="visually-hidden">{title}</h1>
			{problem ? <Problem>{problem}</Problem> : <p role="status">Loading…</p>}
		</div>
	);
}
