<?php
// Predis, as Debian's php-nrk-predis has it.
require 'Predis/autoload.php';
require __DIR__ . '/steps.php';

function connect() {
    global $argv;
    return new Predis\Client(['host' => $argv[1], 'port' => (int)$argv[2], 'read_write_timeout' => 20]);
}

function fails($client, $word, ...$command) {
    $reply = $client->executeRaw($command, $error);
    equal($error && str_starts_with($reply, $word), true);
}

$client = connect();
equal((string)$client->ping(), 'PONG');
equal((string)$client->client('setname', 'matrix'), 'OK');
equal($client->client('getname'), 'matrix');
ok('connect');

$code = $client->executeRaw(['SHORTEN', target('one')]);
equal($client->executeRaw(['SHORTEN', target('one')]), $code);
ok('shorten');
equal($client->executeRaw(['RESOLVE', $code]), target('one'));
equal($client->executeRaw(['RESOLVE', 'no-such-code']), null);
ok('resolve');
equal($client->get($code), target('one'));
equal($client->get('no-such-code'), null);
ok('get');

class Shorten extends Predis\Command\Command { // a pipeline takes the commands that the library knows
    public function getId() { return 'SHORTEN'; }
}
$client->getProfile()->defineCommand('shorten', 'Shorten');
$codes = $client->pipeline(function ($pipe) {
    for ($i = 0; $i < 1000; $i++) {
        $pipe->shorten(target($i));
    }
});
equal(count(array_unique($codes)), 1000);
equal($client->get($codes[999]), target(999));
ok('pipeline');

$results = $client->transaction(['watch' => 'predis-multi', 'cas' => true], function ($tx) {
    equal($tx->get('predis-multi'), null);
    $tx->multi();
    $tx->set('predis-multi', target('m'));
    $tx->get('predis-multi');
    $tx->del('predis-multi');
});
equal([(string)$results[0], $results[1], $results[2]], ['OK', target('m'), 1]);
ok('multi');

$seen = [];
foreach (new Predis\Collection\Iterator\Keyspace($client, null, 1000) as $key) {
    $seen[$key] = true;
}
equal(count($seen) >= 10_000 && isset($seen[$code]), true);
ok('scan');

$subscriber = connect()->pubSubLoop(['subscribe' => "link:$code"]);
foreach ($subscriber as $message) {
    if ($message->kind === 'subscribe') {
        equal((string)$client->executeRaw(['BAN', $code]), 'OK');
    } elseif ($message->kind === 'message') {
        equal(json_decode($message->payload)->event, 'banned');
        $subscriber->unsubscribe();
    }
}
equal($client->get($code), null);
fails($client, 'BANNED', 'RESOLVE', $code);
ok('ban');

fails($client, 'BADURL bad_scheme', 'SHORTEN', 'ftp://example.com/');
equal((string)$client->ping(), 'PONG');
equal($client->info()['Server']['redis_mode'], 'standalone');
ok('error');

restart();
equal(again(fn() => $client->get($codes[2])), target(2));
ok('reconnect');

echo 'done Predis ', Predis\Client::VERSION, ' PHP ', PHP_VERSION, "\n";
