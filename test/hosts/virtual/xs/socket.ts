/** Opens a socket whose callbacks throw, and posts their names. */

import Channel from "virtual/channel";
import { TcpSocket } from "virtual/tcp";

export default function main() {
	const called = new Channel("called", {}, () => {});
	new TcpSocket({
		address: "127.0.0.1",
		host: "127.0.0.1",
		port: 1,
		onReadable() {
			called.post("onReadable");
			throw new Error("on request");
		},
		onWritable: () => called.post("onWritable"),
		onError: () => called.post("onError"),
	});
}
