/**
 * The functions in C that the manifests' "ffi" sections name. Each object of the SDK's class has all of them as its own properties,
 * about 200 slots of XS's heap, so there is one object for all modules.
 */

import FFI from "mc/ffi";

let functions: FFI | undefined;

/** Not to be called at module level: modules are loaded on the computer that builds them. */
export function nativeFunctions(): FFI {
	functions ??= new FFI();
	return functions;
}
