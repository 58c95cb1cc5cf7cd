/** Echoes each event as a post. "ask" makes a call whose response is sent back as a post. */

import config from "mc/config";
import Channel from "virtual/channel";

export default function main() {
	const channel = new Channel("echo", { text: config.text, list: [1, null] }, (name, detail, payload) => {
		if (name === "close") channel.close();
		if (name !== "ask") channel.post(name, detail, payload);
		else {
			try {
				const answer = channel.call("question", detail, payload);
				if (answer instanceof Uint8Array) channel.post("answered", undefined, answer);
				else channel.post("answered", answer);
			} catch (error) {
				channel.post("rejected", String(error));
			}
		}
	});
	channel.post("view", undefined, new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
	channel.post("nothing");
}
