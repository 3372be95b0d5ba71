/* hiredis: a pipeline, and a transaction as requests of their own. */
#include <hiredis/hiredis.h>
#include <stdio.h>

/* show prints the integers of a reply, and returns 1 if it has an error. */
static int show(const redisReply *r) {
	int wrong = r->type == REDIS_REPLY_ERROR;
	if (wrong)
		fprintf(stderr, "%s\n", r->str);
	if (r->type == REDIS_REPLY_INTEGER)
		printf("%lld\n", r->integer);
	if (r->type == REDIS_REPLY_ARRAY)
		for (size_t i = 0; i < r->elements; i++)
			wrong |= show(r->element[i]);
	return wrong;
}

int main(int argc, char **argv) {
	static const char *requests[] = {"NEXT", "NEXT 3", "NEXT", "NEXT", "NEXT", "MULTI", "NEXT", "NEXT", "NEXT", "EXEC"};
	const int n = sizeof requests / sizeof *requests;
	redisContext *c = redisConnectUnix(argv[argc - 1]);
	int wrong = c == NULL || c->err;
	for (int i = 0; !wrong && i < n; i++)
		redisAppendCommand(c, requests[i]);
	for (int i = 0; !wrong && i < n; i++) {
		void *reply;
		wrong = redisGetReply(c, &reply) != REDIS_OK || show(reply);
	}
	return wrong;
}
