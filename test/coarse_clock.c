/*
 * coarse_clock.c - a clock with a coarse resolution, to preload
 *
 * COARSE_CLOCK is the resolution in ns.  test/t/024_coarse_clock.pl compiles and
 * preloads the library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long
coarse(long nsec)
{
	static long resolution;

	if (resolution == 0)
		resolution = atol(getenv("COARSE_CLOCK"));
	return nsec - nsec % resolution;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	static int	(*original) (clockid_t, struct timespec *);
	int			result;

	if (original == NULL)
		original = (int (*) (clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
	result = original(clock, now);
	if (result == 0 && clock == CLOCK_REALTIME)
		now->tv_nsec = coarse(now->tv_nsec);
	return result;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec fine;
	int			result = clock_gettime(CLOCK_REALTIME, &fine);

	(void) zone;
	now->tv_sec = fine.tv_sec;
	now->tv_usec = fine.tv_nsec / 1000;
	return result;
}
