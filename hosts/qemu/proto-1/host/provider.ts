/** Global `device` of a PROTO-1 in QEMU. The SDK requires this path, for `embedded:provider/builtin`. */

export { default } from "qemu/device";
