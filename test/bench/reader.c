/*
 * reader.c - a reader of a feed, for the rows "feed_ways" and "feed_waiting"
 *
 * usage: reader SECONDS WAY STATE [POLL]
 *
 * Polls, and then waits as WAY says: a number is so many ms of sleep, "notify" is LISTEN
 * on the channel "event", and "wait" is comb_wait().  POLL gets the state as $1, and
 * returns rows with the next state and with the time of the commit in us since 1970, or
 * NULL.  The program prints for each of them how many ms later it has got the row, and at
 * last the number of polls and what one of them took, in ms.
 */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static PGresult *
ask(PGconn *connection, const char *sql, int n, const char *argument)
{
	PGresult   *result = PQexecParams(connection, sql, n, NULL, &argument, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
	{
		fprintf(stderr, "%s", PQerrorMessage(connection));
		exit(1);
	}
	return result;
}

static char *
copy(char *old, const char *new)
{
	free(old);
	return strdup(new);
}

/* Poll, and show the delays.  Returns the next state. */
static char *
read_rows(PGconn *connection, const char *sql, char *state)
{
	PGresult   *result = ask(connection, sql, 1, state);
	double		now = now_ms();
	int			i;

	for (i = 0; i < PQntuples(result); i++)
	{
		if (!PQgetisnull(result, i, 1))
			printf("%.3f\n", now - atof(PQgetvalue(result, i, 1)) / 1e3);
		if (!PQgetisnull(result, i, 0))
			state = copy(state, PQgetvalue(result, i, 0));
	}
	PQclear(result);
	return state;
}

/* Wait until a notification comes, or for so many ms. */
static void
wait_for_notification(PGconn *connection, int ms)
{
	PGnotify   *notification;
	int			n = 0;

	PQconsumeInput(connection);
	for (;;)
	{
		struct pollfd waiting = {PQsocket(connection), POLLIN, 0};

		while ((notification = PQnotifies(connection)) != NULL)
		{
			PQfreemem(notification);
			n++;
		}
		if (n > 0 || poll(&waiting, 1, ms) <= 0)
			return;
		PQconsumeInput(connection);
	}
}

int
main(int argc, char **argv)
{
	double		end = now_ms() + atof(argv[1]) * 1e3;
	const char *way = argv[2];
	char	   *state = strdup(argv[3]);
	const char *sql = argc > 4 ? argv[4] : NULL;
	PGconn	   *connection = PQconnectdb("");
	char	   *seen = NULL;
	double		polling = 0;
	int			polls = 0;

	if (strcmp(way, "notify") == 0)
		PQclear(ask(connection, "LISTEN event", 0, NULL));
	while (now_ms() < end)
	{
		double		begin = now_ms();

		if (sql != NULL)
			state = read_rows(connection, sql, state);
		polling += now_ms() - begin;
		polls++;
		if (strcmp(way, "notify") == 0)
			wait_for_notification(connection, 1000);
		else if (strcmp(way, "wait") == 0)
		{
			PGresult   *result = ask(connection, "CALL comb_wait($1, '1 s')", 1, seen);

			seen = copy(seen, PQgetvalue(result, 0, 0));
			PQclear(result);
		}
		else
		{
			struct timespec pause = {0, atol(way) * 1000000};

			nanosleep(&pause, NULL);
		}
	}
	printf("polls %d %.4f\n", polls, polling / polls);
	PQfinish(connection);
	return 0;
}
