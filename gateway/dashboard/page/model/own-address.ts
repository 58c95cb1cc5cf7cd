/** Gateway address for devices, derived from the address of this page. */

export function ownDeviceAddress(): string {
	const address = new URL("device", document.baseURI);
	return `${address.protocol.replace("http", "ws")}//${address.host}${address.pathname}`;
}
