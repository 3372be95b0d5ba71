// The least that a server of single IDs can do: it answers each request of the Redis protocol on a
// Unix socket, whatever it asks for, with the same number. One thread, epoll, a read and a write for
// what is there. What it reaches is the limit of the socket and of the load generator. It reads
// nothing of a client that has not taken its replies.
//
// Usage: floor SOCKET
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char reply[] = ":117542358848897024\r\n"; // as long as an ID of the default layout
enum { length = sizeof reply - 1, input = 16384, connections = 20000 };

// What is known of a connection: how many lines its request still has, whether the first is read now,
// and how many bytes of replies it has not taken.
struct request {
	long lines;
	char head;
	size_t owed;
};
static struct request of[connections];
static char in[input], out[(input + 1) * length];

// count says how many requests end in what was read. A request is a line *N and 2N lines more, or
// one line.
static size_t count(struct request *r, const char *p, size_t n) {
	size_t whole = 0;
	for (const char *end = p + n; p < end; p++) {
		if (*p == '*' && r->lines == 0) {
			r->head = 1;
		} else if (r->head && *p >= '0' && *p <= '9') {
			r->lines = r->lines * 10 + 2 * (*p - '0');
		} else if (*p == '\n' && r->head) {
			r->head = 0;
		} else if (*p == '\n' && (r->lines == 0 || --r->lines == 0)) {
			whole++;
		}
	}
	return whole;
}

static void fail(const char *what) {
	perror(what);
	exit(1);
}

int main(int argc, char **argv) {
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	if (argc != 2 || strlen(argv[1]) >= sizeof at.sun_path) {
		fprintf(stderr, "usage: floor SOCKET, of at most %zu bytes\n", sizeof at.sun_path - 1);
		return 2;
	}
	strcpy(at.sun_path, argv[1]);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), poll = epoll_create1(0);
	if (listener < 0 || poll < 0) fail("socket");
	if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 4096)) fail(argv[1]);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[512];
	if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event)) fail("epoll_ctl");
	for (;;) {
		int ready = epoll_wait(poll, events, 512, -1);
		if (ready < 0 && errno != EINTR) fail("epoll_wait");
		for (int i = 0; i < ready; i++) {
			int fd = events[i].data.fd;
			if (fd == listener) {
				int c;
				while ((c = accept(listener, NULL, NULL)) >= 0) {
					if (c >= connections) {
						close(c);
						continue;
					}
					of[c] = (struct request){0};
					event = (struct epoll_event){.events = EPOLLIN, .data.fd = c};
					if (epoll_ctl(poll, EPOLL_CTL_ADD, c, &event)) fail("epoll_ctl");
				}
				continue;
			}
			ssize_t n = 1;
			size_t left = of[fd].owed;
			if (left == 0 && (n = read(fd, in, sizeof in)) > 0) left = length * count(&of[fd], in, n);
			size_t begun = (length - left % length) % length; // of a reply that was sent in part
			for (size_t k = 0; k < begun + left; k += length) memcpy(out + k, reply, length);
			for (const char *p = out + begun; n > 0 && left > 0;) {
				ssize_t sent = send(fd, p, left, MSG_NOSIGNAL | MSG_DONTWAIT);
				if (sent < 0 && errno == EAGAIN) break;
				if (sent <= 0) n = 0;
				else p += sent, left -= sent;
			}
			if (n <= 0) {
				close(fd);
				continue;
			}
			if ((left > 0) != (of[fd].owed > 0)) {
				event = (struct epoll_event){.events = left > 0 ? EPOLLOUT : EPOLLIN, .data.fd = fd};
				if (epoll_ctl(poll, EPOLL_CTL_MOD, fd, &event)) fail("epoll_ctl");
			}
			of[fd].owed = left;
		}
	}
}
