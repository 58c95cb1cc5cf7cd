/*
 * Differences between the C interfaces of XS 17 (Moddable SDK) and XS 13.3 (@agoric/xsnap), under the names of XS 17 where it has one.
 */
#ifndef VIRTUAL_COMPATIBILITY_H
#define VIRTUAL_COMPATIBILITY_H

#if XS_MAJOR_VERSION >= 17
	#define FRAME_FUNCTION(frame) ((frame) + 2)
	#define PARSER_LINE(parser) ((parser)->states[0].line)
	typedef txU8 meter_count;
#else
	#define FRAME_FUNCTION(frame) ((frame) + 3)
	#define PARSER_LINE(parser) ((parser)->line)
	typedef txU4 meter_count;
	#define XS_JAVASCRIPT_STACK_OVERFLOW_EXIT XS_STACK_OVERFLOW_EXIT
	/* XS 13.3 reports both overflows with the code above, and none with this one. */
	#define XS_NATIVE_STACK_OVERFLOW_EXIT (-1)
#endif

#endif
