/**
 * Native functions declared in the manifests' "ffi" sections. Each instance of the SDK's FFI class defines all of them as own
 * properties, about 200 slots of the XS heap, so all modules share one instance.
 */

import FFI from "mc/ffi";

let functions: FFI | undefined;

/** Must not be called at module level: preloaded modules are evaluated on the build machine. */
export function nativeFunctions(): FFI {
	functions ??= new FFI();
	return functions;
}
