/** Global `device` of a DEV-1 in QEMU. The SDK requires this path, for `embedded:provider/builtin`. */

export { default } from "qemu/device";
