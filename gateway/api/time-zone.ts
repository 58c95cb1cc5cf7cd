/**
 * Resolves the IANA name of a time zone, ignoring case. Rejects offsets such as +02:00, which only Node 22 and later support.
 *
 * @returns the canonical name; undefined if this computer does not know the zone
 */
export function zoneNamed(name: string): string | undefined {
	if (!/^[a-z]/i.test(name)) return undefined;
	try {
		return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
	} catch {
		return undefined;
	}
}

/** @returns undefined if this computer's zone has no name, as with a blank `TZ` */
export function ownZone(): string | undefined {
	return zoneNamed(new Intl.DateTimeFormat().resolvedOptions().timeZone);
}
