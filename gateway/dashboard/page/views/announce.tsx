/** Announces: plays a sound on some devices, in a room, or on all. */

import { OnDemand } from "./on-demand.js";

const load = async () => (await import("../announce/announcing.js")).AnnouncingView;

/** @param search see Route */
export function AnnounceView({ search }: { search: string }) {
	return <OnDemand title="Announce" load={load} with={{ search }} />;
}
