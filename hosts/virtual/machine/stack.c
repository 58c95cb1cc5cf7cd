/*
 * The end of this thread's stack. XS asks for it at every regular expression that it compiles, and glibc reads /proc/self/maps for
 * the answer, which never changes.
 */
#define _GNU_SOURCE
#include <pthread.h>

#ifdef __linux__
extern int virtual_stack_attributes(pthread_t thread, pthread_attr_t* attributes);

/** pthread_getattr_np, with only the stack's address and size, for the one thread that runs XS. */
int virtual_stack_attributes(pthread_t thread, pthread_attr_t* attributes)
{
	static void* address = NULL;
	static size_t size = 0;
	if (size == 0) {
		pthread_attr_t all;
		int error = pthread_getattr_np(thread, &all);
		if (error != 0)
			return error;
		pthread_attr_getstack(&all, &address, &size);
		pthread_attr_destroy(&all);
	}
	return pthread_attr_setstack(attributes, address, size);
}
#endif
