/** Releases that a gateway offers, shared with the dashboard. */

import type { Catalog } from "./firmware.js";

/** Returns the catalog without unsigned images if firmware must be signed, as the gateway does not offer them. */
export function offeredReleases(catalog: Catalog, mustBeSigned: boolean): Catalog {
	if (!mustBeSigned) return catalog;
	const releases = catalog.releases.flatMap((release) => {
		const images = release.images.filter(({ signature }) => signature !== undefined);
		return images.length > 0 ? { ...release, images } : [];
	});
	return { ...catalog, releases };
}
