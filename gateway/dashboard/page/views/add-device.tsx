/**
 * Adds a device. The script that communicates with boards is larger than the rest of the page, and is loaded on
 * request.
 */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function AddDeviceView() {
	const [loaded, setLoaded] = useState<{ readonly View: ComponentType }>();
	const [problem, setProblem] = useState("");
	useEffect(() => {
		import("../install/installation.js").then(
			({ InstallationView }) => setLoaded({ View: InstallationView }),
			() => setProblem("This view could not be loaded. Reload the page."),
		);
	}, []);
	if (loaded) return <loaded.View />;
	return (
		<div class="empty">
			<h1 class="visually-hidden">Add device</h1>
			{problem ? (
				<p class="problem" role="alert">
					{problem}
				</p>
			) : (
				<p role="status">Loading…</p>
			)}
		</div>
	);
}
