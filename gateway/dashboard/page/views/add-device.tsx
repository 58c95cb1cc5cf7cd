/** Adds a device. The script that communicates with boards is larger than the rest of the page. */

import { OnDemand } from "./on-demand.js";

const load = async () => (await import("../install/installation.js")).InstallationView;

/** @param withVirtual boards may be virtual ones, as in tests */
export function AddDeviceView({ withVirtual }: { withVirtual: boolean }) {
	return <OnDemand title="Add device" load={load} with={{ withVirtual }} />;
}
