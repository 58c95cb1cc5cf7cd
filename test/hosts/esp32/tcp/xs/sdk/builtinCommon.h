/* Subset of the Moddable SDK's header that the TCP socket's natives use. */
#ifndef TCP_TEST_BUILTIN_COMMON_H
#define TCP_TEST_BUILTIN_COMMON_H

xsSlot *builtinGetCallback(xsMachine *the, xsIdentifier id);

#endif
