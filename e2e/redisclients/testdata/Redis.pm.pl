# Redis.pm: commands that it does not know are called as methods, a pipeline by callbacks.
use strict;
use warnings;
use Redis;

my $r = Redis->new(sock => $ARGV[0]);
print $r->next, "\n";
print "$_\n" for $r->next(3);
$r->multi;
$r->next for 1 .. 3;
print "$_\n" for $r->exec;
for (1 .. 3) {
    $r->next(sub { my ($id, $error) = @_; die $error if $error; print "$id\n" });
}
$r->wait_all_responses;
die "no clients" if $r->info->{connected_clients} < 1;
$r->quit;
