# Perl's Redis.
use strict;
use warnings;
use JSON::PP;
use Redis;

$| = 1;
my ($host, $port) = @ARGV;

sub target { "https://example.com/perl/$_[0]" }
sub ok { print "ok $_[0]\n" }

sub equal {
	my ($got, $want) = map { $_ // 'undef' } @_;
	$got eq $want or die "got $got, want $want at line " . (caller)[2] . "\n";
}

sub fails {
	my ($word, $fn) = @_;
	eval { $fn->(); 1 } and die "no error, want $word";
	$@ =~ /\b$word/ or die "got $@, want $word";
}

# A word that the library has no method for is sent as it is.
sub connection { Redis->new(server => "$host:$port", name => 'matrix', reconnect => 20, every => 50_000, encoding => undef) }

my $client = connection();
equal($client->ping, 'PONG');
equal($client->client_getname, 'matrix');
ok('connect');

my $code = $client->shorten(target('one'));
equal($client->shorten(target('one')), $code);
ok('shorten');
equal($client->resolve($code), target('one'));
equal($client->resolve('no-such-code'), undef);
ok('resolve');
equal($client->get($code), target('one'));
equal($client->get('no-such-code'), undef);
ok('get');

my @codes;
for my $i (0 .. 999) {
	$client->shorten(target($i), sub { my ($reply, $error) = @_; die $error if defined $error; push @codes, $reply });
}
$client->wait_all_responses;
my %different = map { $_ => 1 } @codes;
equal(scalar(keys %different), 1000);
equal($client->get($codes[999]), target(999));
ok('pipeline');

$client->watch('perl-multi');
$client->multi;
equal($client->set('perl-multi', target('m')), 'QUEUED');
equal($client->get('perl-multi'), 'QUEUED');
equal($client->del('perl-multi'), 'QUEUED');
my @results = $client->exec;
equal("@results", 'OK ' . target('m') . ' 1');
ok('multi');

my %seen;
my $cursor = 0;
do {
	($cursor, my $keys) = $client->scan($cursor, 'COUNT', 1000);
	$seen{$_} = 1 for @$keys;
} while $cursor;
keys %seen >= 10_000 && $seen{$code} or die 'SCAN gave ' . keys %seen;
ok('scan');

my $heard;
my $subscriber = connection();
$subscriber->subscribe("link:$code", sub { $heard = $_[0] });
equal($client->ban($code), 'OK');
$subscriber->wait_for_messages(1) while !defined $heard;
equal(decode_json($heard)->{event}, 'banned');
equal($client->get($code), undef);
fails('BANNED', sub { $client->resolve($code) });
ok('ban');

fails('BADURL bad_scheme', sub { $client->shorten('ftp://example.com/') });
equal($client->ping, 'PONG');
equal($client->info->{redis_mode}, 'standalone');
ok('error');

print "restart\n";
<STDIN>;
equal($client->get($codes[2]), target(2));
ok('reconnect');

$client->quit;
print "done Redis.pm ", Redis->VERSION, " Perl $^V\n";
