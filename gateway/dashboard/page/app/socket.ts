/**
 * Opens the WebSocket of the page. On a slow connection the main script takes seconds to load, so a script in the document head
 * (early.ts) opens the first socket and buffers the first devices until Link claims it.
 */

export interface OpenedSocket {
	readonly socket: WebSocket;
	/** Received frames, the oldest first. */
	readonly texts: readonly string[];
}

declare global {
	interface Window {
		earlySocket?: OpenedSocket;
	}
}

export function openSocket(): OpenedSocket {
	const address = new URL("monitor?summary&lists&rollouts&announcements&cluster&commands", document.baseURI);
	address.protocol = address.protocol.replace("http", "ws");
	address.hash = "";
	const socket = new WebSocket(address);
	const texts: string[] = [];
	socket.onmessage = ({ data }) => texts.push(String(data));
	return { socket, texts };
}

/** Returns the early socket on the first call, then new ones, and stops buffering. */
export function claimSocket(): OpenedSocket {
	const opened = window.earlySocket ?? openSocket();
	delete window.earlySocket;
	opened.socket.onmessage = null;
	return opened;
}
