/*
 * slow_disk.c - a disk whose flush takes 10 ms, for the row "latency"
 *
 * Loaded by LD_PRELOAD before the C library.  The server flushes the WAL by
 * fdatasync() if wal_sync_method says so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <time.h>

int
fdatasync(int fd)
{
	int			(*flush) (int) = (int (*) (int)) dlsym(RTLD_NEXT, "fdatasync");
	struct timespec rest = {0, 10 * 1000 * 1000};

	while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
		;
	return flush(fd);
}
