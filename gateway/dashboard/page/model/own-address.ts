/** The address that this page came from, as devices would use it. */

export function ownDeviceAddress(): string {
	const address = new URL("device", document.baseURI);
	return `${address.protocol.replace("http", "ws")}//${address.host}${address.pathname}`;
}
