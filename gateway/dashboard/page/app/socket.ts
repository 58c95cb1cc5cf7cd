/**
 * Opens the page's WebSocket. On a slow connection the page's script takes seconds to come; so a script in its head (early.ts)
 * opens the first socket, and keeps what comes until Link takes it over: the first devices, as the others wait for a message.
 */

export interface OpenedSocket {
	readonly socket: WebSocket;
	/** What has come, the oldest first. */
	readonly texts: readonly string[];
}

declare global {
	interface Window {
		earlySocket?: OpenedSocket;
	}
}

export function openSocket(): OpenedSocket {
	const address = new URL(
		"monitor?summary_start&lists&rollouts&announcements&cluster&commands",
		document.baseURI,
	);
	address.protocol = address.protocol.replace("http", "ws");
	address.hash = "";
	const socket = new WebSocket(address);
	const texts: string[] = [];
	socket.onmessage = ({ data }) => texts.push(String(data));
	return { socket, texts };
}

/** The socket of the page's head the first time, then new ones. From now on nothing is kept. */
export function claimSocket(): OpenedSocket {
	const taken = window.earlySocket ?? openSocket();
	delete window.earlySocket;
	taken.socket.onmessage = null;
	return taken;
}
