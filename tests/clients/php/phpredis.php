<?php
// phpredis, the extension.
require __DIR__ . '/steps.php';

function connect() {
    global $argv;
    $client = new Redis();
    equal($client->connect($argv[1], (int)$argv[2], 5), true);
    return $client;
}

function fails($client, $word, ...$command) {
    try {
        $client->rawCommand(...$command); // that an error begins with ERR or not decides whether it is thrown
        $error = (string)$client->getLastError();
    } catch (RedisException $e) {
        $error = $e->getMessage();
    }
    equal(str_starts_with($error, $word), true);
}

$client = connect();
equal($client->ping(), true);
equal($client->client('setname', 'matrix'), true);
equal($client->client('getname'), 'matrix');
ok('connect');

$code = $client->rawCommand('SHORTEN', target('one'));
equal($client->rawCommand('SHORTEN', target('one')), $code);
ok('shorten');
equal($client->rawCommand('RESOLVE', $code), target('one'));
equal($client->rawCommand('RESOLVE', 'no-such-code'), false);
equal($client->getLastError(), null);
ok('resolve');
equal($client->get($code), target('one'));
equal($client->get('no-such-code'), false);
ok('get');

$pipe = $client->pipeline();
for ($i = 0; $i < 1000; $i++) {
    $pipe->rawCommand('SHORTEN', target($i));
}
$codes = $pipe->exec();
equal(count(array_unique($codes)), 1000);
equal($client->get($codes[999]), target(999));
ok('pipeline');

$client->watch('php-multi');
equal($client->multi()->set('php-multi', target('m'))->get('php-multi')->del('php-multi')->exec(), [true, target('m'), 1]);
ok('multi');

$client->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
$seen = [];
$cursor = null;
while ($keys = $client->scan($cursor, '*', 1000)) {
    foreach ($keys as $key) {
        $seen[$key] = true;
    }
}
equal(count($seen) >= 10_000 && isset($seen[$code]), true);
ok('scan');

$banner = pcntl_fork(); // to subscribe is a call that does not return
if ($banner === 0) {
    $other = connect();
    for ($i = 0; $i < 1000 && $other->pubsub('numsub', ["link:$code"])["link:$code"] < 1; $i++) {
        usleep(10_000);
    }
    equal($other->rawCommand('BAN', $code), true);
    exit(0);
}
$subscriber = connect();
$subscriber->setOption(Redis::OPT_READ_TIMEOUT, 20);
$heard = null;
try {
    $subscriber->subscribe(["link:$code"], function ($redis, $channel, $message) use (&$heard) {
        $heard = $message;
        $redis->close(); // nothing else ends the call
    });
} catch (RedisException $e) {
    equal($heard !== null, true);
}
equal(json_decode($heard)->event, 'banned');
pcntl_waitpid($banner, $status);
equal($status, 0);
equal($client->get($code), false);
fails($client, 'BANNED', 'RESOLVE', $code);
ok('ban');

fails($client, 'BADURL bad_scheme', 'SHORTEN', 'ftp://example.com/');
equal($client->ping(), true);
equal($client->info()['redis_mode'], 'standalone');
ok('error');

restart();
equal(again(fn() => $client->get($codes[2])), target(2));
ok('reconnect');

echo 'done phpredis ', phpversion('redis'), ' PHP ', PHP_VERSION, "\n";
