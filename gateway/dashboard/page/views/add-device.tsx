/** Adds a device. The script that communicates with boards is larger than the rest of the page. */

import { OnDemand } from "./on-demand.js";

const load = async () => (await import("../install/installation.js")).InstallationView;

export function AddDeviceView() {
	return <OnDemand title="Add device" load={load} with={{}} />;
}
