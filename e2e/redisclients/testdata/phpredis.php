<?php // phpredis: multi() is a transaction, multi(Redis::PIPELINE) is none.
$r = new Redis();
$r->connect($argv[1]);
echo $r->rawCommand("NEXT"), "\n";
echo implode("\n", $r->rawCommand("NEXT", 3)), "\n";
foreach ([Redis::MULTI, Redis::PIPELINE] as $mode) {
    $m = $r->multi($mode);
    for ($i = 0; $i < 3; $i++) {
        $m->rawCommand("NEXT");
    }
    echo implode("\n", $m->exec()), "\n";
}
