/** Name look-up through the DNS servers that DHCP gave, so that names of the local network are found, and `.local` by mDNS. */

import Net from "net";
import Timer from "timer";
import type { ResolveOptions, Resolver } from "../../device/host.js";

export class SystemResolver implements Resolver {
	resolve(options: ResolveOptions): void {
		const { host, onResolved, onError } = options;
		if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) {
			// Nobody has to be asked, and the SDK asks one name after the other: a network without DNS would hold this up.
			Timer.set(() => withoutExceptions(() => onResolved(host, host)));
			return;
		}
		try {
			Net.resolve(host, (_name, address) =>
				withoutExceptions(() => {
					if (address) onResolved(host, address);
					else onError();
				}),
			);
		} catch (error) {
			trace(`look-up: ${error}\n`);
			// In a later turn, since nobody expects an answer from within the question.
			Timer.set(() => withoutExceptions(onError));
		}
	}
}

/** An exception that leaves a callback restarts the board. */
function withoutExceptions(action: () => void): void {
	try {
		action();
	} catch (error) {
		trace(`look-up: ${error}\n`);
	}
}
