/* Subset of the Moddable SDK's header used by the natives of the TCP socket. */
#ifndef TCP_TEST_BUILTIN_COMMON_H
#define TCP_TEST_BUILTIN_COMMON_H

xsSlot *builtinGetCallback(xsMachine *the, xsIdentifier id);
void builtinInitializeTarget(xsMachine *the);

#endif
