/** ECMA-419 DNS resolver; Node looks the name up. Like the SDK's it cannot be called off. */

import type { Resolver as Interface, ResolveOptions } from "../../../device/host.js";
import Channel from "./channel.js";

export default class Resolver implements Interface {
	resolve(options: ResolveOptions): void {
		const { host } = options;
		const channel = new Channel("dns", { host }, (event, address) => {
			channel.close();
			if (event === "resolved" && typeof address === "string") options.onResolved(host, address);
			else options.onError();
		});
	}
}
