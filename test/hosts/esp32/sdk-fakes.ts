/** Sources of fakes of the SDK's modules by module name. `bench` is the Bench of board-bench.ts. */

/** Class that records `new` with its options and each method call. */
function recorder(module: string, methods: readonly string[], statics = ""): string {
	const body = methods.map((name) => `${name}(...values) { bench.call("${module}", "${name}", ...values); }`);
	return `export default class {
	constructor(options) {
		this.options = options;
		bench.keep("${module}", this);
		bench.call("${module}", "new", options);
	}
	${body.join("\n\t")}
	${statics}
}`;
}

/** Socket that reads the bench's incoming bytes one at a time. */
const socketStatics = 'format = "buffer"; read() { return bench.incoming.shift(); }';

export const sdkFakes: ReadonlyMap<string, string> = new Map([
	[
		"embedded:io/digital",
		recorder(
			"embedded:io/digital",
			["write", "close"],
			'static Output = "output"; static InputPullUp = "pull-up"; static Rising = 1; static Falling = 2; read() { return 1; }',
		),
	],
	["embedded:io/analog", recorder("embedded:io/analog", ["close"], "read() { return 7; } resolution = 12;")],
	["embedded:io/pwm", recorder("embedded:io/pwm", ["write", "close"], "resolution = 10;")],
	["embedded:io/audio/out", recorder("embedded:io/audio/out", ["start", "stop", "write", "close"])],
	[
		"embedded:io/smbus",
		recorder(
			"embedded:io/smbus",
			["writeUint8", "close"],
			"readUint8(register) { return register === 0xfd ? 0x83 : 0x11; }",
		),
	],
	["embedded:io/socket/udp", recorder("embedded:io/socket/udp", ["write", "close"], socketStatics)],
	["embedded:io/socket/tcp/tls", recorder("embedded:io/socket/tcp/tls", ["write", "close"], socketStatics)],
	[
		"embedded:network/interface/ethernet",
		recorder(
			"embedded:network/interface/ethernet",
			["configure", "connect", "disconnect", "close"],
			'connection = bench.answers.get("embedded:network/interface/ethernet connection") ?? 300; address = undefined;',
		),
	],
	[
		"embedded:network/http/client",
		recorder("embedded:network/http/client", ["close"], "request(options) { bench.requests.push(options); }"),
	],
	[
		"embedded:network/interface/wifi",
		recorder("embedded:network/interface/wifi", ["configure", "connect", "close"]),
	],
	["embedded:network/websocket/client", recorder("embedded:network/websocket/client", ["close"])],
	[
		"sntp",
		`export default class {
	static time = 1; static retry = 2; static error = -1;
	constructor(options, answer) {
		this.answer = answer;
		bench.keep("sntp", this);
		bench.call("sntp", "new", options);
	}
	close() { bench.call("sntp", "close"); }
}`,
	],
	[
		"net",
		'export default { resolve(host, answer) { bench.keep("net", answer); bench.call("net", "resolve", host); } };',
	],
	[
		"sdk/ssl/session",
		`export default class {
	clientCipher = null;
	serverCipher = null;
	constructor(options) { this.options = options; }
	handshake() { return bench.answer("sdk/ssl/session", "handshake"); }
	read() { return bench.answer("sdk/ssl/session", "read"); }
	readPacket() { return bench.answer("sdk/ssl/session", "readPacket"); }
}`,
	],
	["ssl/cert", "export default class {}"],
	["ecdsa", "export default class {}"],
	["x509", "export default {};"],
	[
		"crypt",
		`export class Digest {
	constructor(algorithm) { bench.call("crypt", "new", algorithm); }
	write(bytes) { bench.call("crypt", "write", bytes.byteLength); }
	close() { return bench.answer("crypt", "close"); }
}`,
	],
	[
		"embedded:storage/flash",
		`export default {
	open(options) {
		bench.call("embedded:storage/flash", "open", options);
		return {
			status() { return { size: 0x1f0000, blockLength: 4096, blocks: 496 }; },
			read(buffer, offset) { bench.call("embedded:storage/flash", "read", buffer.byteLength, offset); },
			close() { bench.call("embedded:storage/flash", "close"); },
		};
	},
};`,
	],
	["time", 'export default { set(seconds) { bench.call("time", "set", seconds); } };'],
	[
		"timer",
		"export default { set(callback) { bench.timers.push(callback); return callback; }, repeat(callback) { bench.timers.push(callback); return callback; }, delay(ms) { bench.call('timer', 'delay', ms); }, clear(timer) { const at = bench.timers.indexOf(timer); if (at >= 0) bench.timers.splice(at, 1); } };",
	],
	["mc/config", "export default bench.config;"],
	[
		"mc/ffi",
		`export default class {
	constructor() {
		bench.call("mc/ffi", "new");
		return new Proxy(this, {
			get: (_, name) => (...values) => {
				bench.call("mc/ffi", name, ...values);
				const answer = bench.natives[name];
				return typeof answer === "function" ? answer(...values) : (answer ?? 0);
			},
		});
	}
}`,
	],
	[
		"embedded:storage/key-value",
		`export default {
	open(options) {
		bench.call("embedded:storage/key-value", "open", options);
		return {
			read(key) {
				bench.call("embedded:storage/key-value", "read", key);
				if (typeof bench.stored.get(key) === "number") throw new TypeError("mismatch");
				return bench.stored.get(key);
			},
			write(key, value) { bench.stored.set(key, value); },
			delete(key) { bench.stored.delete(key); },
			close() { bench.call("embedded:storage/key-value", "close"); },
		};
	},
};`,
	],
]);

/**
 * Source of the natives of this project's classes (hosts/esp32/patch.ts, hosts/esp32/tcp/tcp.ts) as methods of one
 * object.
 */
export const natives = `{
	xs_board_patch(...values) { bench.call("board/patch", "new", ...values); },
	xs_board_patch_decode(piece, input, offset) {
		bench.call("board/patch", "decode", piece.byteLength, input.byteLength, offset);
		return bench.answer("board/patch", "decode");
	},
	xs_board_tcp(options) {
		this.options = options;
		this.nativeFormat = "buffer";
		bench.keep("embedded:io/socket/tcp", this);
		bench.call("embedded:io/socket/tcp", "new", options);
	},
	xs_board_tcp_read() { return bench.incoming.shift(); },
	xs_board_tcp_write() { bench.call("embedded:io/socket/tcp", "write"); },
	xs_board_tcp_close() { bench.call("embedded:io/socket/tcp", "close"); },
	xs_board_tcp_get_format() { return this.nativeFormat; },
	xs_board_tcp_set_format(format) { this.nativeFormat = format; },
}`;
