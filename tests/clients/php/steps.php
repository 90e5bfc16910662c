<?php
// What the programs of this folder share.

set_error_handler(function ($level, $message, $file, $line) {
    if (str_starts_with($file, __DIR__)) { // what the libraries themselves do is old
        throw new ErrorException($message, 0, $level, $file, $line);
    }
    return true;
});

function target($n) { return "https://example.com/php/$n"; }

function ok($step) { echo "ok $step\n"; }

function equal($got, $want) {
    if ($got !== $want) {
        throw new Exception('got ' . var_export($got, true) . ', want ' . var_export($want, true));
    }
}

function restart() {
    echo "restart\n";
    fgets(STDIN);
}

// again calls $fn until it succeeds, for 20 seconds.
function again($fn) {
    for ($end = time() + 20; ; usleep(50_000)) {
        try {
            return $fn();
        } catch (Exception $e) {
            if (time() > $end) {
                throw $e;
            }
        }
    }
}
