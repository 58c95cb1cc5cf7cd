/** Describes a status (RFC 9110, 15) other than 200 and 206. @param what the requested resource, e.g. "firmware" */
export function describeStatus(status: number, what: string): string {
	if (status >= 300 && status < 400)
		return `The server answered ${status}, a redirect; use the ${what}'s final address.`;
	return `The server answered ${status}${meaning(status, what)}.`;
}

/** Whether the same request may succeed later. */
export function isTransient(status: number): boolean {
	return status < 300 || status >= 500 || status === 408 || status === 429;
}

function meaning(status: number, what: string): string {
	switch (status) {
		case 401:
		case 403:
			return `: it does not give the ${what} to this device`;
		case 404:
			return `: there is no ${what} at this address`;
		case 410:
			return `: the ${what} at this address was replaced or withdrawn`;
		case 429:
			return ": it has too much to do";
		default:
			return status >= 500 ? ": it failed" : "";
	}
}
